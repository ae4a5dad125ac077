import { getPreset } from '@svc/contract/presets.ts';
import { defineCommand } from '../../define-command.ts';

export default defineCommand({
  words: 'presets get',
  summary: 'Show one preset',
  kind: 'read',
  positionals: [{ name: 'preset', summary: 'Preset id or name' }],
  endpoint: getPreset,
  input: ({ tenant, positionals }) => ({ params: { tenantID: tenant, presetID: positionals.preset } }),
  examples: [{ line: 'svc presets get reader', does: 'What a reader may do' }],
});
