import { refTarget } from '@svc/contract/column-families.ts';
import { type ColumnSpec, columnSpecText, parseColumnSpec } from '@svc/contract/column-spec.ts';
import type {
  AppSchema,
  checkTables as checkShape,
  applyTables as shape,
} from '@svc/contract/declared-tables.shapes.ts';
import { presetOf, rolesOfRules, type TableRules } from '@svc/contract/table-rules.ts';
import type { z } from 'zod';
import {
  type AppCtx,
  type AppMutationCtx,
  type AppRef,
  appRef,
  type MutationCtx,
} from '../../core/context.ts';
import { type Db, sqlState } from '../../core/db.ts';
import { Failure, fail } from '../../core/problem.ts';
import { isDeepEqual } from '../../core/values.ts';
import { listTableDefinitions } from './copy-tables.ts';
import { withoutReferenceIndexes } from './indexes.ts';
import { resetTimeouts, run } from './lock-table.ts';
import { type DeclaredTables, planSchema } from './plan-schema.ts';
import {
  type DeclaredIndex,
  executeStep,
  isDestructive,
  isDrop,
  isExpanding,
  type SchemaStep,
  stepRecord,
  stepText,
} from './schema-steps.ts';
import { listAllTableRows, lockAppTableRows, lockTableCreation } from './store.ts';

export async function exportTables(ctx: AppCtx): Promise<z.output<typeof AppSchema>> {
  const definitions = await listTableDefinitions(ctx.db, appRef(ctx));
  const roles = new Set<string>();
  const tables = definitions.map((definition) => {
    const { name, description, owner_column, columns, changes, history, soft_delete, access } = definition;
    const references = columns.filter(({ type }) => refTarget(type) !== null).map((column) => column.name);
    const indexes = withoutReferenceIndexes(definition.indexes ?? [], references);
    const rules = access as TableRules;
    for (const role of rolesOfRules(rules)) roles.add(role);
    const table: z.output<typeof AppSchema>['tables'][string] = {
      ...(description && { description }),
      ...(owner_column && { owner_column }),
      columns: columns.map(shortColumn),
      ...(changes && { changes }),
      ...(history && { history }),
      ...(soft_delete && { soft_delete }),
      ...(indexes.length > 0 && { indexes: indexes.map(shortIndex) }),
      access: presetOf(rules) ?? rulesOnly(rules),
    };
    return [name, table] as const;
  });
  return { roles: [...roles].sort(), tables: Object.fromEntries(tables) };
}

function shortColumn(spec: ColumnSpec): string | ColumnSpec {
  const text = columnSpecText(spec);
  return isDeepEqual(parseColumnSpec(text), spec) ? text : spec;
}

function shortIndex({ name = '', columns, unique, search, language }: DeclaredIndex) {
  return search
    ? { name, search, ...(language && { language }) }
    : { name, columns, ...(unique && { unique }) };
}

const rulesOnly = ({ columns, ...lists }: TableRules) => ({
  ...lists,
  ...(Object.keys(columns).length > 0 && { columns }),
});

export async function schemaDrift(db: Db, app: AppRef, tables: DeclaredTables): Promise<SchemaStep[]> {
  return planSchema(await listAllTableRows(db, app), tables);
}

export async function checkTables(
  ctx: AppCtx,
  { tables }: z.output<typeof checkShape.body>,
): Promise<z.output<typeof checkShape.answer>> {
  const steps = await schemaDrift(ctx.db, appRef(ctx), tables);
  return { differs: steps.length > 0, steps: steps.map(stepRecord) };
}

export async function applyTables(
  ctx: AppMutationCtx,
  { tables, prune, allow_destructive }: z.output<typeof shape.body>,
): Promise<z.output<typeof shape.answer>> {
  const { steps, left } = await applySchema(ctx, tables, {
    prune,
    allowed: allow_destructive ? 'all' : [],
  });
  if (left.length > 0)
    ctx.warn(`Not declared, and kept without --prune: ${toList(left.map((step) => leftName(step)))}.`);
  return {
    created: steps.flatMap(({ kind, table }) => (kind === 'create_table' ? [table] : [])),
    columns: steps.flatMap((step) =>
      step.kind === 'add_column' ? [`${step.table}.${step.column.name}`] : [],
    ),
    rules: steps.flatMap(({ kind, table }) => (kind === 'set_access' ? [table] : [])),
    changed: steps.length > 0,
    steps: steps.map(stepRecord),
    left: left.map(stepRecord),
  };
}

const namedMax = 10;
const toList = (names: readonly string[]) =>
  `${names.slice(0, namedMax).join(', ')}${names.length > namedMax ? ` and ${names.length - namedMax} more` : ''}`;

function leftName(step: SchemaStep): string {
  if (step.kind === 'drop_column') return `column ${step.table}.${step.column.name}`;
  return step.kind === 'drop_index' ? `index ${step.table}.${step.index.name}` : `table ${step.table}`;
}

interface ApplyOptions {
  prune: boolean;
  allowed: 'all' | readonly string[];
  part?: 'whole' | 'expanding';
}

export async function applySchema(
  ctx: AppMutationCtx,
  tables: DeclaredTables,
  { prune, allowed, part = 'whole' }: ApplyOptions,
): Promise<{ steps: SchemaStep[]; left: SchemaStep[]; undo: SchemaStep[] }> {
  await lockSchema(ctx);
  const planned = await schemaDrift(ctx.db, appRef(ctx), tables);
  const selected = planned.filter((step) => prune || !isDrop(step));
  requireAllowed(selected, allowed);
  const steps = part === 'whole' ? selected : selected.filter(isExpanding);
  const undo: SchemaStep[] = [];
  for (const step of steps) {
    const inverse = await executeStep(ctx, step).catch((error: unknown) => {
      throw withStep(error, step);
    });
    if (inverse) undo.unshift(inverse);
    await resetAllTimeouts(ctx);
  }
  warnOfDestructive(ctx, steps);
  return { steps, left: planned.filter((step) => !selected.includes(step)), undo };
}

export function warnOfDestructive(ctx: MutationCtx, steps: readonly SchemaStep[]): void {
  for (const step of steps.filter(isDestructive)) ctx.warnOfLoss(`Destructive: ${stepText(step)}.`);
}

/** One at a time for an app, and no other change of its tables in between. */
async function lockSchema(ctx: AppMutationCtx): Promise<void> {
  await lockTableCreation(ctx.db, ctx.app.id);
  await lockAppTableRows(ctx.db, appRef(ctx)).catch((error: unknown) => {
    throw sqlState(error) === '55P03' ? fail('table_busy', {}, { cause: error }) : error;
  });
  await ctx.rows.requireFinished(ctx.app.id);
}

async function resetAllTimeouts(ctx: AppMutationCtx): Promise<void> {
  for (const tx of new Set([await ctx.rows.tx(), ctx.db])) await resetTimeouts(tx);
}

function requireAllowed(steps: readonly SchemaStep[], allowed: ApplyOptions['allowed']): void {
  const refused = steps.filter(
    (step) => isDestructive(step) && allowed !== 'all' && !allowed.includes(stepText(step)),
  );
  if (refused.length === 0) return;
  throw fail('destructive_change', {
    detail: `Values of rows would be lost: ${toList(refused.map(stepText))}. Nothing was changed.`,
    errors: refused.map((step) => ({
      field: `tables.${step.table}`,
      code: 'destructive_change',
      detail: stepText(step),
    })),
  });
}

function withStep(error: unknown, step: SchemaStep): unknown {
  if (!(error instanceof Failure)) return error;
  const detail = `${stepText(step)}: ${error.detail ?? error.message}`;
  return fail(error.code, { detail, ...(error.errors && { errors: error.errors }) }, { cause: error });
}

export async function undoSchema(ctx: AppMutationCtx, undo: readonly SchemaStep[]): Promise<SchemaStep[]> {
  const failed: SchemaStep[] = [];
  await lockSchema(ctx);
  for (const step of undo) {
    const transactions = [...new Set([await ctx.rows.tx(), ctx.db])];
    for (const tx of transactions) await run(tx, 'savepoint schema_undo');
    try {
      await executeStep(ctx, step);
      await resetAllTimeouts(ctx);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      for (const tx of transactions) await run(tx, 'rollback to savepoint schema_undo');
      if (error.code !== 'not_found') failed.push(step);
    }
  }
  return failed;
}
