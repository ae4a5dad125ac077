import { Select } from '@mantine/core';
import type { resourceTiers } from '@svc/contract/limits.ts';
import { listResourcePresets, resourcesOf } from '@svc/contract/resource-presets.ts';
import { useTenant } from '../api/me.ts';
import { useAnswer } from '../api/use-answer.ts';

export type Tier = (typeof resourceTiers)[number];

/** How much an app may use; tiers above the tenant's maximum are there and can not be chosen. */
export function TierSelect({
  value,
  onChange,
  error,
  disabled = false,
}: {
  /** Null: what the tenant's apps usually get. */
  value: Tier | null;
  onChange: (tier: Tier) => void;
  error?: string | undefined;
  disabled?: boolean;
}) {
  const tenant = useTenant();
  const { data } = useAnswer(listResourcePresets, { params: { tenantID: tenant.id }, query: {} });
  const presets = data?.items ?? [];
  const usual = presets.find((one) => one.default)?.name ?? null;
  return (
    <Select
      label="Size"
      description="Cores and memory that it may use."
      data={presets.map((one) => ({
        value: one.name,
        label: one.allowed ? tierText(one.name) : `${tierText(one.name)}: above the tenant's maximum`,
        disabled: !one.allowed && one.name !== value,
      }))}
      value={value ?? usual}
      onChange={(next) => {
        const chosen = presets.find((one) => one.name === next);
        if (chosen) onChange(chosen.name);
      }}
      allowDeselect={false}
      error={error}
      disabled={disabled}
    />
  );
}

function tierText(tier: Tier): string {
  const { cpu, memory_mb: memory } = resourcesOf[tier];
  return `${tier} (${cpu} ${cpu === 1 ? 'core' : 'cores'}, ${memory} MB)`;
}
