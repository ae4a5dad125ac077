import { deletePreset } from '@svc/contract/presets.ts';
import { defineCommand } from '../../define-command.ts';

export default defineCommand({
  words: 'presets delete',
  summary: 'Delete a preset that no active grant uses',
  kind: 'mutate',
  positionals: [{ name: 'preset', summary: 'Preset id or name' }],
  endpoint: deletePreset,
  input: ({ tenant, positionals }) => ({ params: { tenantID: tenant, presetID: positionals.preset } }),
  examples: [{ line: 'svc presets delete exporter --execute', does: 'Delete it' }],
});
