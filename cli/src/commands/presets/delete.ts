import { deletePreset, getPreset } from '@svc/contract/presets.ts';
import { defineCommand } from '../../define-command.ts';
import { idOf } from '../../inputs/id-of.ts';

export default defineCommand({
  words: 'presets delete',
  summary: 'Delete a preset that no active grant uses',
  kind: 'mutate',
  positionals: [{ name: 'preset', summary: 'Preset id or name' }],
  endpoint: deletePreset,
  input: ({ tenant, positionals }) => ({ params: { tenantID: tenant, presetID: positionals.preset } }),
  deletedId: async (ctx, { params }) => {
    const client = await ctx.client();
    return idOf(params.presetID, () => client.call(getPreset, { params }, { signal: ctx.signal }));
  },
  examples: [{ line: 'svc presets delete exporter --execute', does: 'Delete it' }],
});
