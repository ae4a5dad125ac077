import type { applyTables as ApplyShape } from '@svc/contract/tables.shapes.ts';
import { applyTables, exportTables } from '@svc/contract/tables.ts';
import type { z } from 'zod';
import { defineCommand, objectSchema } from '../command.ts';
import type { Ctx } from '../context.ts';
import { usageError } from '../framework/errors.ts';
import { appFlag } from '../inputs/common.ts';
import { readDocument } from '../inputs/document.ts';
import { inputName } from '../inputs/files.ts';
import { resolveTenant } from '../session/tenant.ts';
import { appliedTablesView } from '../views/tables.ts';

export const tablesApply = defineCommand({
  words: 'tables apply',
  summary: 'Create tables, add columns and set rules as a file says',
  description:
    'The file has tables (columns, owner_column, description and access of each) and roles, like svc.yaml. Tables that ' +
    'exist get the columns that they lack, and their rules. Nothing is dropped, and types do not change.',
  kind: 'mutate',
  flags: {
    ...appFlag,
    file: {
      type: 'string',
      placeholder: 'path',
      summary: 'YAML or JSON; the nearest svc.yaml when absent; - reads standard input',
    },
  },
  endpoint: applyTables,
  input: async ({ flags, ctx }) => ({ body: await readSchema(ctx, flags.file) }),
  view: appliedTablesView,
  examples: {
    '--app lunch --file tables.yaml': 'Preview what the file would change',
    '--app lunch --file tables.yaml --execute': 'Change it',
  },
});

async function readSchema(ctx: Ctx, file: string | undefined): Promise<z.input<typeof ApplyShape.body>> {
  const path = file ?? (await nearestManifest(ctx));
  const { tables, roles } = await readDocument(ctx, path, { digits: ['default'] });
  if (typeof tables !== 'object' || tables === null || Array.isArray(tables))
    throw usageError(
      `${inputName(path)} has no tables.`,
      'Add tables by name: svc tables export shows those of an app.',
    );
  return {
    tables: tables as z.input<typeof ApplyShape.body>['tables'],
    ...(roles !== undefined && { roles: roles as string[] }),
  };
}

async function nearestManifest(ctx: Ctx): Promise<string> {
  const { manifestDefaults } = await import('../manifest/defaults.ts');
  const found = await manifestDefaults(ctx.io);
  if (!found) throw usageError('There is no svc.yaml here.', 'Name a file with --file.');
  return found.path;
}

export const tablesExport = defineCommand({
  words: 'tables export',
  summary: 'Print the tables of an app with their columns and rules, as svc.yaml has them',
  kind: 'read',
  flags: appFlag,
  calls: `${exportTables.method} ${exportTables.path}`,
  run: async (ctx, { flags }) => {
    const tenantID = await resolveTenant(ctx);
    const client = await ctx.client();
    const value = await client.call(exportTables, { params: { tenantID, app: flags.app } });
    const { stringify } = await import('yaml');
    const text = stringify(value, { lineWidth: 0, aliasDuplicateObjects: false });
    return { value, text: () => text };
  },
  output: objectSchema({ roles: { type: 'array', items: { type: 'string' } }, tables: 'object' }),
  examples: { '--app lunch': 'For svc.yaml, or for svc tables apply --file' },
});
