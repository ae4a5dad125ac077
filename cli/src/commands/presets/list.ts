import { listPresets } from '@svc/contract/presets.ts';
import { defineCommand } from '../../define-command.ts';
import { pageFlags } from '../../page-flags.ts';
import { presetView } from '../../views/preset.ts';

export default defineCommand({
  words: 'presets list',
  summary: 'List the presets that grants can use',
  kind: 'read',
  flags: pageFlags,
  endpoint: listPresets,
  input: ({ tenant, flags }) => ({
    params: { tenantID: tenant },
    query: { page: flags.page, per_page: flags['per-page'] },
  }),
  view: presetView,
  examples: [{ line: 'svc presets list', does: 'The built-in ones first, then your own' }],
});
