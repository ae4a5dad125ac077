import {
  listObjects,
  objectDelimiterCharsMax,
  objectListLimitDefault,
  objectListLimitMax,
} from '@svc/contract/storage.ts';
import { appFlag } from '../../../app-flag.ts';
import { defineCommand } from '../../../define-command.ts';

export default defineCommand({
  words: 'apps storage ls',
  summary: "List an app's objects by key",
  description:
    'In the order of their keys. With --delimiter keys that share a beginning up to it are shown as one prefix, so ' +
    'that --delimiter / shows one level of folders.',
  kind: 'read',
  calls: `${listObjects.method} ${listObjects.path}`,
  flags: {
    ...appFlag,
    prefix: { type: 'string', placeholder: 'prefix', summary: 'Only keys that begin with it' },
    delimiter: {
      type: 'string',
      placeholder: 'text',
      summary: `Group keys up to it, behind the prefix; at most ${objectDelimiterCharsMax} characters`,
    },
    limit: {
      type: 'integer',
      min: 1,
      max: objectListLimitMax,
      summary: `Objects and prefixes per page (${objectListLimitDefault})`,
    },
    cursor: { type: 'string', placeholder: 'cursor', summary: 'Go on behind a page: its next_cursor' },
    all: { type: 'boolean', summary: 'Every page' },
  },
  run: async (ctx, { flags }) => {
    const { openStorage } = await import('../../../storage/storage-place.ts');
    const { listShown } = await import('../../../storage/list-shown.ts');
    const { app, all, ...query } = flags;
    return listShown(ctx, await openStorage(ctx, app), { query, pages: all ? 'all' : 'one' });
  },
  output: {
    type: 'object',
    properties: {
      items: {
        type: 'array',
        items: {
          type: 'object',
          properties: {
            key: { type: 'string' },
            size: { type: 'integer' },
            content_type: { type: 'string' },
            sha256: { type: 'string' },
            created_at: { type: 'string' },
            updated_at: { type: 'string' },
          },
          required: ['key', 'size', 'content_type', 'sha256', 'created_at', 'updated_at'],
        },
      },
      prefixes: { type: 'array', items: { type: 'string' } },
      next_cursor: { anyOf: [{ type: 'string' }, { type: 'null' }] },
    },
    required: ['items', 'prefixes', 'next_cursor'],
  },
  view: { columns: ['key', 'size', 'content_type', 'updated_at'] },
  examples: [
    { line: 'svc apps storage ls --app pet-shop --delimiter /', does: 'What is at the top' },
    {
      line: 'svc apps storage ls --app pet-shop --prefix photos/2027/ --all',
      does: 'Everything below a folder',
    },
  ],
});
