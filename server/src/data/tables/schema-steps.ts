import { alternativeText } from '@svc/contract/access-matrix.ts';
import { type ColumnSpec, columnSpecText } from '@svc/contract/column-spec.ts';
import type { ColumnType } from '@svc/contract/columns.ts';
import type { SchemaStep as StepRecord } from '@svc/contract/declared-tables.shapes.ts';
import { schemaStepKinds } from '@svc/contract/declared-tables.ts';
import { presetOf, ruleActions, type TableRules } from '@svc/contract/table-rules.ts';
import type { addIndex, createTable } from '@svc/contract/tables.shapes.ts';
import type { z } from 'zod';
import type { AppMutationCtx } from '../../core/context.ts';
import { declaredRules, setTableAccess } from './access.ts';
import { addColumn, dropColumn } from './columns.ts';
import { addIndex as addIndexTo, dropIndex } from './indexes.ts';
import { createTable as createTableAs, dropTable, updateTable } from './tables.ts';
import { changesBetween, updateColumn } from './update-column.ts';

export type DeclaredIndex = z.output<typeof addIndex.body>;
export type NamedIndex = DeclaredIndex & { name: string };

interface TableOptions {
  description?: string;
  changes?: boolean;
  history?: string | null;
  soft_delete?: string | null;
}

/** Plain data, because a deployment stores the steps that undo its own. `table` is the name at that point. */
export type SchemaStep = { table: string } & (
  | { kind: 'rename_table'; to: string }
  | { kind: 'rename_column'; column: string; to: string }
  | { kind: 'create_table'; as: Omit<z.output<typeof createTable.body>, 'name'> }
  | { kind: 'add_column'; column: ColumnSpec }
  | { kind: 'change_column'; before: ColumnSpec; after: ColumnSpec; isLossy?: boolean; isLate?: boolean }
  | { kind: 'update_table'; before: TableOptions; after: TableOptions }
  | { kind: 'set_access'; before: TableRules; after: TableRules }
  | { kind: 'add_index'; index: DeclaredIndex; isLate?: boolean }
  | { kind: 'replace_index'; before: NamedIndex; after: NamedIndex; isLate?: boolean }
  | { kind: 'drop_index'; index: NamedIndex }
  | { kind: 'drop_column'; column: ColumnSpec }
  | { kind: 'drop_table'; unlink?: { table: string; column: string; type: ColumnType }[] }
);

export function isDrop({ kind }: SchemaStep): boolean {
  return kind === 'drop_index' || kind === 'drop_column' || kind === 'drop_table';
}

const isLossy = (step: SchemaStep) =>
  (step.kind === 'change_column' && step.isLossy === true) ||
  (step.kind === 'update_table' && isShortened(step.before, step.after));

export function isShortened(before: TableOptions, after: TableOptions): boolean {
  const days = (text: string | null = null) => Number.parseInt(text ?? '0', 10);
  return (['history', 'soft_delete'] as const).some(
    (name) => after[name] !== undefined && days(after[name]) < days(before[name]),
  );
}

export function isDestructive(step: SchemaStep): boolean {
  return step.kind === 'drop_column' || step.kind === 'drop_table' || isLossy(step);
}

/** Can be undone, so that a deployment may take the step before its version runs. */
export function isExpanding(step: SchemaStep): boolean {
  const isLate = 'isLate' in step && step.isLate === true;
  return !isDrop(step) && !isLossy(step) && !isLate;
}

/** Rules name new columns and no dropped ones; a late index needs the new type of its columns. */
export function inOrder(steps: readonly SchemaStep[]): SchemaStep[] {
  const rank = (step: SchemaStep) => {
    if (isExpanding(step)) return schemaStepKinds.indexOf(step.kind);
    const late = ['drop_index', 'change_column', 'drop_column', 'drop_table'].indexOf(step.kind);
    return schemaStepKinds.length + (late < 0 ? 4 : late);
  };
  return [...steps].sort((a, b) => rank(a) - rank(b));
}

export function stepRecord(step: SchemaStep): z.output<typeof StepRecord> {
  const { kind, table } = step;
  return {
    kind,
    table,
    text: stepText(step),
    destructive: isDestructive(step),
    access: accessText(step),
  };
}

function accessText(step: SchemaStep): string | null {
  if (step.kind === 'set_access') return rulesText(step.after);
  return step.kind === 'create_table' ? rulesText(declaredRules(step.as)) : null;
}

function rulesText(rules: TableRules): string {
  const preset = presetOf(rules);
  if (preset) return preset;
  const lists = ruleActions.map((action) => `${action} ${rules[action].map(alternativeText).join(', ')}`);
  const limited = Object.keys(rules.columns);
  return [...lists, ...(limited.length > 0 ? [`limits on ${limited.join(', ')}`] : [])].join('; ');
}

const typeText = (column: ColumnSpec) => columnSpecText(column).slice(column.name.length + 1);
function indexText({ columns, unique, search, language = 'simple' }: DeclaredIndex): string {
  if (!search) return `${unique ? 'unique index' : 'index'} (${columns.join(', ')})`;
  const weighted = Object.entries(search).map((entry) => entry.join(':'));
  return `search index (${weighted.join(', ')}) in ${language}`;
}

export function stepText(step: SchemaStep): string {
  const { table } = step;
  switch (step.kind) {
    case 'rename_table':
      return `rename table ${table} to ${step.to}`;
    case 'rename_column':
      return `rename column ${table}.${step.column} to ${step.to}`;
    case 'create_table':
      return `create table ${table}`;
    case 'add_column':
      return `add column ${table}.${step.column.name}: ${typeText(step.column)}`;
    case 'change_column':
      return `change column ${table}.${step.after.name} from ${typeText(step.before)} to ${typeText(step.after)}`;
    case 'update_table':
      return `set ${Object.entries(step.after)
        .map(([name, value]) => (name === 'description' ? 'the description' : `${name}=${value ?? 'none'}`))
        .join(', ')} of ${table}`;
    case 'set_access':
      return `set the rules of ${table}`;
    case 'add_index':
      return `add to ${table} the ${indexText(step.index)}`;
    case 'replace_index':
      return `replace in ${table} the ${indexText(step.before)} ${step.before.name} by the ${indexText(step.after)}`;
    case 'drop_index':
      return `drop from ${table} the ${indexText(step.index)} ${step.index.name}`;
    case 'drop_column':
      return `drop column ${table}.${step.column.name}`;
    case 'drop_table':
      return `drop table ${table}`;
  }
}

export async function executeStep(ctx: AppMutationCtx, step: SchemaStep): Promise<SchemaStep | null> {
  const { table } = step;
  switch (step.kind) {
    case 'rename_table':
      await updateTable(ctx, { table, set: { name: step.to } });
      return { kind: 'rename_table', table: step.to, to: table };
    case 'rename_column':
      await updateColumn(ctx, { table, column: step.column, set: { name: step.to } });
      return { kind: 'rename_column', table, column: step.to, to: step.column };
    case 'create_table':
      await createTableAs(ctx, { name: table, ...step.as });
      return { kind: 'drop_table', table };
    case 'add_column':
      await addColumn(ctx, { table, column: step.column });
      return { kind: 'drop_column', table, column: step.column };
    case 'change_column': {
      const set = changesBetween(step.before, step.after);
      await updateColumn(ctx, { table, column: step.after.name, set, conversion: 'any' });
      return isLossy(step) ? null : { ...step, before: step.after, after: step.before };
    }
    case 'update_table':
      await updateTable(ctx, { table, set: step.after });
      return isLossy(step) ? null : { ...step, before: step.after, after: step.before };
    case 'set_access':
      await setTableAccess(ctx, { table, set: step.after });
      return { ...step, before: step.after, after: step.before };
    case 'add_index': {
      const { name } = await addIndexTo(ctx, { table, index: step.index });
      return { kind: 'drop_index', table, index: { ...step.index, name } };
    }
    case 'replace_index':
      await dropIndex(ctx, { table, index: step.before.name });
      await addIndexTo(ctx, { table, index: step.after });
      return { ...step, before: step.after, after: step.before };
    case 'drop_index':
      await dropIndex(ctx, { table, index: step.index.name });
      return { kind: 'add_index', table, index: step.index };
    case 'drop_column':
      await dropColumn(ctx, { table, column: step.column.name });
      return null;
    case 'drop_table':
      for (const { type, ...column } of step.unlink ?? [])
        await updateColumn(ctx, { ...column, set: { type } });
      await dropTable(ctx, { table });
      return null;
  }
}
