import { deleteObject } from '@svc/contract/storage.ts';
import { appFlag } from '../../../app-flag.ts';
import { defineCommand } from '../../../define-command.ts';

export default defineCommand({
  words: 'apps storage rm',
  summary: 'Delete an object',
  description: 'There is no undo.',
  kind: 'mutate',
  calls: `${deleteObject.method} ${deleteObject.path}`,
  positionals: [{ name: 'key', summary: 'Key of the object' }],
  flags: appFlag,
  run: async (ctx, { positionals, flags }) => {
    const { openStorage } = await import('../../../storage/storage-place.ts');
    const { carryOut } = await import('../../../mutation.ts');
    const { client, params } = await openStorage(ctx, flags.app);
    const { key } = positionals;
    const input = { params, query: { key } };
    return carryOut(ctx, {
      preview: () => client.preview(deleteObject, input, { signal: ctx.signal }),
      execute: async (plan) => {
        await client.call(deleteObject, input, {
          signal: ctx.signal,
          ...(plan !== undefined && { ifPlan: plan }),
        });
        return { value: { deleted: true, key } };
      },
    });
  },
  output: {
    type: 'object',
    properties: { deleted: { const: true }, key: { type: 'string' } },
    required: ['deleted', 'key'],
  },
  examples: [
    { line: 'svc apps storage rm photos/rex.jpg --app pet-shop --execute', does: 'Delete it for good' },
  ],
});
