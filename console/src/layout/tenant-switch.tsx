import { Select } from '@mantine/core';
import { consolePaths } from '@svc/contract/console-paths.ts';
import { useLocation } from 'wouter';
import { useMe, useTenant } from '../api/me.ts';

export function TenantSwitch() {
  const { tenants } = useMe();
  const { slug } = useTenant();
  const [, go] = useLocation();
  return (
    <Select
      aria-label="Tenant"
      data={tenants.map((tenant) => ({ value: tenant.slug, label: tenant.name }))}
      value={slug}
      onChange={(chosen) => chosen && go(consolePaths.apps(chosen))}
      allowDeselect={false}
      searchable={tenants.length > 8}
      w={{ base: 140, xs: 200 }}
      size="sm"
    />
  );
}
