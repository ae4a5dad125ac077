import { signFile } from '@svc/contract/files.ts';
import type { Preview } from '@svc/contract/plan.ts';
import { updateRow } from '@svc/contract/rows-endpoints.ts';
import { defineCommand, objectSchema } from '../command.ts';
import { appFlag } from '../inputs/common.ts';
import { carryOut } from '../mutation.ts';
import { idPositional, rowOutput, rowsCredential, rowsResult, tablePositional } from '../rows/row-command.ts';
import { openRows } from '../rows/rows-client.ts';
import { planStaleError } from '../session/problems.ts';

const columnPositional = { name: 'column', summary: 'Column of type file' } as const;

export const rowsUpload = defineCommand({
  words: 'rows upload',
  summary: 'Upload a file into a column of a row',
  description: rowsCredential,
  kind: 'mutate',
  credential: 'login_or_pat',
  calls: `${signFile.method} ${signFile.path}, ${updateRow.method} ${updateRow.path}`,
  timeoutDefault: '24h',
  positionals: [tablePositional, idPositional, columnPositional],
  flags: {
    ...appFlag,
    'from-file': { type: 'string', required: true, placeholder: 'path', summary: 'The file' },
    name: {
      type: 'string',
      placeholder: 'name',
      summary: 'Name of the file in the row (name of the local file)',
    },
    'content-type': {
      type: 'string',
      placeholder: 'type',
      summary: 'Media type (by file extension)',
    },
  },
  run: async (ctx, { flags, positionals: { table, id, column } }) => {
    const rows = await openRows(ctx, { app: flags.app, table });
    const { announceRowFile, uploadRowFile } = await import('../rows/row-files.ts');
    const path = flags['from-file'];
    const announced = await announceRowFile({ path, name: flags.name, contentType: flags['content-type'] });
    const patch = (file: unknown) =>
      ({ method: 'PATCH', of: { id }, body: JSON.stringify({ [column]: file }) }) as const;
    const preview = async () =>
      (await rows.call({ ...patch(announced), query: [['dry_run', 'true']] })).body as Preview;
    return carryOut(ctx, {
      irreversible: false,
      preview,
      execute: async (plan) => {
        // A stale plan is refused before the upload.
        if (plan !== undefined && (await preview()).plan.fingerprint !== plan) throw planStaleError();
        const file = await uploadRowFile(ctx, rows, { column, path, announced });
        const headers: Record<string, string> = plan === undefined ? {} : { 'if-plan': plan };
        const { body } = await rows.call({ ...patch(file), headers });
        return rowsResult(ctx, body, [body as Record<string, unknown>]);
      },
    });
  },
  output: rowOutput,
  examples: {
    'pets 7 photo --app shop --from-file icon.png': 'Preview the change of the row',
    'pets 7 photo --app shop --from-file icon.png --name rex.png --execute': 'Upload it under another name',
  },
});

export const rowsDownload = defineCommand({
  words: 'rows download',
  summary: 'Download the file in a column of a row',
  description: `The file appears when it is complete. ${rowsCredential}`,
  kind: 'read',
  credential: 'login_or_pat',
  calls: 'GET /data/{tenant}/{app}/{table}/{id}/_files/{column}',
  timeoutDefault: '24h',
  positionals: [tablePositional, idPositional, columnPositional],
  flags: {
    ...appFlag,
    to: { type: 'string', placeholder: 'path', summary: 'File to write (standard output)' },
  },
  run: async (ctx, { flags, positionals: { table, id, column } }) => {
    const rows = await openRows(ctx, { app: flags.app, table });
    const to = flags.to === undefined || flags.to === '-' ? null : flags.to;
    const { downloadRowFile } = await import('../rows/row-files.ts');
    return downloadRowFile(ctx, rows, { id, column, to });
  },
  output: objectSchema({ file: 'string', bytes: 'integer' }),
  examples: { 'pets 7 photo --app shop --to copy.json': 'Write the file' },
});
