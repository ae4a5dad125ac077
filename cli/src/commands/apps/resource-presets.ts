import { perPageMax } from '@svc/contract/limits.ts';
import { listResourcePresets } from '@svc/contract/resource-presets.ts';
import { defineCommand } from '../../define-command.ts';
import { resourcePresetView } from '../../views/resource-preset.ts';

export default defineCommand({
  words: 'apps resource-presets',
  summary: 'List the resource tiers, what each gives, and which of them the tenant may use',
  kind: 'read',
  endpoint: listResourcePresets,
  input: ({ tenant }) => ({ params: { tenantID: tenant }, query: { per_page: perPageMax } }),
  view: resourcePresetView,
  examples: [{ line: 'svc apps resource-presets', does: 'Before creating an app' }],
});
