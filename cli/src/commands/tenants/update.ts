import { resourceTiers } from '@svc/contract/limits.ts';
import { updateTenant } from '@svc/contract/tenants.ts';
import { defineCommand } from '../../define-command.ts';

export default defineCommand({
  words: 'tenants update',
  summary: 'Change the name of the tenant, or the largest tier its apps may have',
  description:
    'Apps that have a larger tier keep it until another is chosen; the preview says how many there are.',
  kind: 'mutate',
  flags: {
    name: { type: 'string', summary: 'New name' },
    'max-resource-tier': { type: 'enum', values: resourceTiers, summary: 'Largest tier an app may have' },
  },
  oneRequired: [['name', 'max-resource-tier']],
  endpoint: updateTenant,
  input: ({ tenant, flags }) => ({
    params: { tenantID: tenant },
    body: { name: flags.name, max_resource_tier: flags['max-resource-tier'] },
  }),
  examples: [
    { line: "svc tenants update --name 'Acme Ltd' --execute", does: 'Rename the active tenant' },
    { line: 'svc tenants update --max-resource-tier M', does: 'Preview what a smaller limit means' },
  ],
});
