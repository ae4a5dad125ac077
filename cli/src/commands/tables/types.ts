import { tablesPerAppMax } from '@svc/contract/columns.ts';
import { listTables } from '@svc/contract/tables.ts';
import { appFlag } from '../../app-flag.ts';
import { defineCommand } from '../../define-command.ts';
import { tableTypes } from '../../table-types.ts';
import { resolveTenant } from '../../tenant.ts';

export default defineCommand({
  words: 'tables types',
  summary: 'Print the tables of an app as TypeScript types, for the SDK',
  description:
    'Row is what is read, Insert and Update are what is sent; Database holds them all, for createClient<Database>.',
  kind: 'read',
  flags: appFlag,
  calls: `${listTables.method} ${listTables.path}`,
  run: async (ctx, { flags }) => {
    const tenantID = await resolveTenant(ctx);
    const client = await ctx.client();
    // An app has no more tables than one page can hold.
    const { items } = await client.call(
      listTables,
      { params: { tenantID, app: flags.app }, query: { per_page: tablesPerAppMax } },
      { signal: ctx.signal },
    );
    const types = tableTypes(flags.app, items);
    return { value: { types }, text: () => types };
  },
  output: { type: 'object', properties: { types: { type: 'string' } }, required: ['types'] },
  examples: [{ line: 'svc tables types --app shop', does: 'To keep in a file: … > src/database.ts' }],
});
