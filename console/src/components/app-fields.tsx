import { Select, type SelectProps } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { authModes } from '@svc/contract/apps.ts';
import { listCategories } from '@svc/contract/categories.ts';
import { perPageMax, type resourceTiers } from '@svc/contract/limits.ts';
import { listResourcePresets, resourcesOf } from '@svc/contract/resource-presets.ts';
import { useState } from 'react';
import { useTenant } from '../api/me.ts';
import { useEndpoint } from '../api/use-endpoint.ts';

export type AuthMode = (typeof authModes)[number];
export type Tier = (typeof resourceTiers)[number];

const authModeTexts: Readonly<Record<AuthMode, string>> = {
  cookie: 'Cookie: people sign in with the browser',
  bearer: 'Bearer token: programs sign in as people',
  api_key: 'API key: programs with a key',
  anonymous: 'Anonymous: no sign-in',
};

export function AuthModeSelect(props: SelectProps) {
  return (
    <Select
      {...props}
      label="Sign-in"
      description="How the app identifies its callers."
      data={authModes.map((mode) => ({ value: mode, label: authModeTexts[mode] }))}
      allowDeselect={false}
    />
  );
}

export function CategorySelect(props: SelectProps) {
  const tenant = useTenant();
  const answer = useEndpoint(listCategories, {
    params: { tenantID: tenant.id },
    query: { per_page: perPageMax },
  });
  const data = (answer.data?.items ?? []).map(({ id, name }) => ({ value: id, label: name }));
  return (
    <Select
      {...props}
      label="Category"
      description="Where the catalogue lists the app."
      placeholder={answer.data && data.length === 0 ? 'The tenant has no categories yet' : 'None'}
      data={data}
      searchable={data.length > 8}
      clearable
      clearButtonProps={{ 'aria-label': 'Clear category' }}
      nothingFoundMessage="No category with this name"
    />
  );
}

export function TierSelect({ value, ...props }: Omit<SelectProps, 'value'> & { value: Tier | null }) {
  const tenant = useTenant();
  const { data } = useEndpoint(listResourcePresets, { params: { tenantID: tenant.id }, query: {} });
  const presets = data?.items ?? [];
  return (
    <Select
      {...props}
      label="Size"
      description="Cores and memory that the app may use."
      data={presets.map((one) => ({
        value: one.name,
        label: one.allowed ? tierText(one.name) : `${tierText(one.name)}: above the tenant's maximum`,
        disabled: !one.allowed && one.name !== value,
      }))}
      value={value ?? presets.find((one) => one.default)?.name ?? null}
      allowDeselect={false}
    />
  );
}

function tierText(tier: Tier): string {
  const { cpu, memory_mb: memory } = resourcesOf[tier];
  return `${tier} (${cpu} ${cpu === 1 ? 'core' : 'cores'}, ${memory} MB)`;
}

interface Option {
  value: string;
  label: string;
}

const searchDelayMs = 250;

/** A select that searches on the server: `useOptions` returns what it finds for the typed text. */
export function SearchSelect({
  value,
  onChange,
  useOptions,
  ...rest
}: Omit<SelectProps, 'value' | 'onChange'> & {
  value: string;
  onChange: (value: string) => void;
  useOptions: (search: string | undefined) => Option[];
}) {
  const [typed, setTyped] = useState('');
  const [q] = useDebouncedValue(typed.trim(), searchDelayMs);
  const [chosen, setChosen] = useState<Option | null>(null);
  // The input shows the label of the chosen option, or its value until the label is known: neither is a search.
  const found = useOptions(q === chosen?.label || q === value ? undefined : q || undefined);
  const isFound = value === '' || found.some((one) => one.value === value);
  const label = chosen?.value === value ? chosen.label : value;
  return (
    <Select
      {...rest}
      data={isFound ? found : [{ value, label }, ...found]}
      value={value === '' ? null : value}
      onChange={(next) => {
        setChosen(found.find((one) => one.value === next) ?? null);
        onChange(next ?? '');
      }}
      searchable
      searchValue={typed}
      onSearchChange={setTyped}
    />
  );
}
