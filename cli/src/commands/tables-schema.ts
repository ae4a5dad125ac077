import type {
  applyTables as ApplyShape,
  checkTables as CheckShape,
} from '@svc/contract/declared-tables.shapes.ts';
import { applyTables, checkTables, exportTables } from '@svc/contract/declared-tables.ts';
import type { Input } from '@svc/contract/endpoint.ts';
import type { z } from 'zod';
import { defineCommand, describeCall, objectSchema, type Result } from '../command.ts';
import type { Ctx } from '../context.ts';
import { CliError, usageError } from '../framework/errors.ts';
import { appFlag } from '../inputs/common.ts';
import { readDocument } from '../inputs/document.ts';
import { inputName } from '../inputs/files.ts';
import { resolveTenant } from '../session/tenant.ts';
import { appliedTablesView } from '../views/tables.ts';

const summary = 'Change the tables of an app to match svc.yaml';
const applyOptions = {
  description:
    'The file has tables (columns, indexes, owner_column, description and access of each) and roles. The change is one ' +
    'transaction. A table or a column with `was` is renamed. What the file does not name is not changed, unless --prune drops it. ' +
    'Steps that lose values are marked in the plan and need --allow-destructive. With --check nothing changes, and the ' +
    'exit code is 6 if the tables differ from the file.',
  kind: 'mutate',
  calls: `${describeCall(applyTables)}, with --check ${describeCall(checkTables)}`,
  flags: {
    ...appFlag,
    file: {
      type: 'string',
      placeholder: 'path',
      summary: 'YAML or JSON; the nearest svc.yaml when absent; - reads standard input',
    },
    prune: { type: 'boolean', summary: 'Drop tables, columns and indexes that the file does not name' },
    'allow-destructive': { type: 'boolean', summary: 'Allow steps that lose values' },
    check: {
      type: 'boolean',
      summary: 'Only compare; exits with 6 if something differs',
    },
  },
  examples: {
    '--app lunch --file tables.yaml': 'Preview what the file would change',
    '--app lunch --file tables.yaml --execute': 'Change it',
    '--app lunch --file tables.yaml --prune --allow-destructive --execute':
      'Also drop what the file does not name',
  },
  view: appliedTablesView,
  output: async () => (await import('@svc/contract/declared-tables.shapes.ts')).applyTables.answer,
} as const;

interface ApplyFlags {
  app: string;
  file?: string | undefined;
  prune?: boolean | undefined;
  'allow-destructive'?: boolean | undefined;
  check?: boolean | undefined;
}

async function apply(ctx: Ctx, flags: ApplyFlags): Promise<Result> {
  const schema = await readSchema(ctx, flags.file);
  const params = { tenantID: await resolveTenant(ctx), app: flags.app };
  const isPreview = ctx.mutation.mode === 'preview';
  if (flags.check && !isPreview) throw usageError('--check and --execute cannot be combined.');
  if (flags.check) return check(ctx, { params, body: schema });
  const body = {
    ...schema,
    prune: flags.prune ?? false,
    // A preview shows destructive steps, marked.
    allow_destructive: isPreview || (flags['allow-destructive'] ?? false),
  };
  const { mutate } = await import('../mutation.ts');
  return mutate(ctx, applyTables, { params, body }, { view: appliedTablesView });
}

async function check(ctx: Ctx, input: Input<typeof CheckShape>): Promise<Result> {
  const value = await (await ctx.client()).call(checkTables, input);
  const lines = value.steps.map(
    ({ text, destructive, access }) =>
      `${text}${access === null ? '' : `, rules: ${access}`}${destructive ? ' (destructive)' : ''}\n`,
  );
  if (!value.differs) return { value, text: () => 'The tables are as the file says.\n' };
  const next = 'svc apply previews the change; --prune includes drops.';
  return {
    value,
    text: () => lines.join(''),
    failed: new CliError('schema_differs', `The tables differ in ${lines.length} respects.`, { next }),
  };
}

export const applyCommand = defineCommand({
  ...applyOptions,
  words: 'apply',
  summary,
  run: (ctx, { flags }) => apply(ctx, flags),
});

export const tablesApply = defineCommand({
  ...applyOptions,
  words: 'tables apply',
  summary: `${summary}; the same as svc apply`,
  run: (ctx, { flags }) => apply(ctx, flags),
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
  summary: 'Print the tables of an app with their columns and rules, in the format of svc.yaml',
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
  examples: { '--app lunch': 'For svc.yaml, or for svc apply --app lunch --file tables.yaml' },
});
