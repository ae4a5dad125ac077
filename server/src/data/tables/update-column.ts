import { checkNames, parseChecks } from '@svc/contract/column-checks.ts';
import { refTarget } from '@svc/contract/column-families.ts';
import {
  type ColumnSpec,
  deleteActionProblem,
  literalText,
  parseColumnType,
  typeWithChecks,
} from '@svc/contract/column-spec.ts';
import type { updateColumn as shape } from '@svc/contract/tables.shapes.ts';
import { typeChangeProblem } from '@svc/contract/type-changes.ts';
import type { z } from 'zod';
import type { AppMutationCtx } from '../../core/context.ts';
import { Failure, fail, validationError } from '../../core/problem.ts';
import { tableTag } from '../../core/tags.ts';
import { isDeepEqual } from '../../core/values.ts';
import {
  checkRules,
  hasEnforcedPolicy,
  isNamedByRules,
  renameInRules,
  requireUnnamedColumn,
} from './access.ts';
import { alterColumn, isRebuiltFor } from './alter-table.ts';
import { defaultProblem } from './columns.ts';
import { auditTable, lockTable, requireColumn, saveTableChange } from './lock-table.ts';
import { relinkColumn, resolveReferences } from './references.ts';
import { countAttributes, isIdDefault, isSearchable, tableRecord } from './rules.ts';
import { type ColumnRow, lockTableCreation, type TableRow, updateColumnRow } from './store.ts';
import { parseDefaultText } from './values.ts';

type ColumnChanges = z.output<typeof shape.body>;
/** `any`: also to a type that not every value fits; a value that cannot be converted refuses the change. */
type Conversion = 'lossless' | 'any';

export function changesBetween(before: ColumnSpec, after: ColumnSpec): ColumnChanges {
  const checks = checkNames
    .filter((check) => before.checks?.[check] !== after.checks?.[check])
    .map((check) => [check, after.checks?.[check] ?? null] as const);
  return {
    ...(before.nullable !== after.nullable && { nullable: after.nullable }),
    ...(before.type !== after.type && { type: after.type }),
    ...((before.type !== after.type || before.default !== after.default) && { default: after.default }),
    ...(checks.length > 0 && { checks: Object.fromEntries(checks) }),
    ...(after.on_delete && before.on_delete !== after.on_delete && { on_delete: after.on_delete }),
  };
}

/** Name and default are in the catalogue only, so no reader waits for them. */
export async function updateColumn(
  ctx: AppMutationCtx,
  input: { table: string; column: string; set: ColumnChanges; conversion?: Conversion },
) {
  if (refTarget(input.set.type ?? '') !== null) await lockTableCreation(ctx.db, ctx.app.id);
  const row = await lockTable(ctx, input.table);
  const before = requireColumn(row, input.column);
  const after = await withReference(ctx, row, before, changedColumn(row, before, input), input.set);
  auditTable(ctx, 'columns.update', row, columnAudit(before, before), columnAudit(after, before));
  if (isDeepEqual(before, after)) return tableRecord(row);
  if (after.name !== before.name || after.type !== before.type)
    await requireUnnamedColumn(ctx, row, before.name);
  for (const id of new Set([before.ref_table, after.ref_table])) if (id) ctx.invalidate(tableTag(id));
  await updateColumnRow(ctx.db, row, after);
  const rename = (name: string) => (name === before.name ? after.name : name);
  const saved = await saveTableChange(ctx, row, {
    rules: renameInRules(row.rules, rename),
    ...(isRebuiltFor(before, after) && { attributes_made: countAttributes(row) }),
  });
  await alterColumn(ctx, row, before, after).catch(async (error: unknown) => {
    throw await withoutHiddenCount(ctx, row, error);
  });
  await relinkColumn(ctx, row, before, after);
  const columns = row.columns.map((column) => (column === before ? after : column));
  return tableRecord({ ...row, ...saved, columns });
}

/** The number of rows would include those that an enforced policy hides from owners. */
async function withoutHiddenCount(ctx: AppMutationCtx, row: TableRow, error: unknown): Promise<unknown> {
  if (!(error instanceof Failure) || error.code !== 'check_violation') return error;
  if (!(await hasEnforcedPolicy(ctx, row))) return error;
  const detail = error.detail?.replace(/^\d+ rows? (has a value|have values)/, 'Rows have values');
  const errors = error.errors?.map((item) => ({ ...item, detail: item.detail.replace(/^\d+ rows/, 'Rows') }));
  return fail('check_violation', { ...(detail && { detail }), ...(errors && { errors }) }, { cause: error });
}

function changedColumn(
  row: TableRow,
  column: ColumnRow,
  { set, conversion = 'lossless' }: { set: ColumnChanges; conversion?: Conversion },
): ColumnRow {
  const type = changedType(row, column, set.type, conversion);
  const after: ColumnRow = {
    ...column,
    type,
    name: set.name ?? column.name,
    nullable: set.nullable ?? column.nullable,
    checks: changedChecks({ ...column, type }, set.checks),
  };
  after.default_text = changedDefault(column, after, set.default);
  if (after.name !== column.name) {
    if (column.role === 'id') throw fail('immutable_field', { detail: 'The id column cannot be renamed.' });
    if (row.columns.some((other) => other.name === after.name)) {
      throw fail('unique_violation', { detail: `Column ${after.name} already exists.` });
    }
  }
  if ((column.role !== 'plain' || type === 'autonumber') && after.nullable) {
    throw fail('immutable_field', { detail: `${column.name} cannot be nullable.` });
  }
  const broken = defaultProblem(after);
  if (broken !== null) throw validationError('default', broken, 'check_violation');
  if (type !== column.type) requireRulesFit(row, column, type);
  return after;
}

function changedType(
  row: TableRow,
  column: ColumnRow,
  text: ColumnChanges['type'],
  conversion: Conversion,
): ColumnRow['type'] {
  if (text === undefined) return column.type;
  const type = parseColumnType(text);
  if (typeof type !== 'string') throw validationError('type', type.detail);
  if (refTarget(type) !== null) return column.type;
  if (type === column.type) return type;
  if (column.role !== 'plain' || column.number === row.owner_column)
    throw fail('immutable_field', { detail: `The type of ${column.name} cannot change.` });
  const isSearched = row.indexes.some(({ search, columns }) => search && columns.includes(column.number));
  if (isSearched && !isSearchable(type))
    throw fail('column_in_use', { detail: `The search index of the table has ${column.name}.` });
  const problem = conversion === 'any' ? null : typeChangeProblem(column.type, type);
  if (problem !== null) throw fail('type_change_refused', { detail: `${column.name}: ${problem}.` });
  return type;
}

/** A reference has the type of the ids that it refers to, so that the values stay as they are. */
async function withReference(
  ctx: AppMutationCtx,
  row: TableRow,
  before: ColumnRow,
  after: ColumnRow,
  { type, on_delete }: ColumnChanges,
): Promise<ColumnRow> {
  const name = refTarget(type ?? '');
  let linked = after;
  if (name !== null && name !== before.target?.name) {
    if (before.role !== 'plain' || before.number === row.owner_column)
      throw fail('immutable_field', { detail: `The type of ${before.name} cannot change.` });
    if (after.default_text !== null || after.checks)
      throw fail('type_change_refused', {
        detail: `${before.name} has a default or checks, which a reference has not.`,
      });
    const [resolved = after] = await resolveReferences(
      ctx,
      row,
      [{ ...after, type: `ref:${name}` as const, on_delete: on_delete ?? 'restrict' }],
      () => 'type',
    );
    if (resolved.type !== before.type)
      throw fail('type_change_refused', {
        detail: `${before.name} has the type ${before.type}, the ids of ${name} have ${resolved.type}.`,
      });
    linked = resolved;
  } else if (name === null && type !== undefined && before.ref_table) {
    linked = { ...after, ref_table: null, on_delete: null, target: null };
  } else if (on_delete !== undefined && before.ref_table) linked = { ...after, on_delete };
  const problem = deleteActionProblem({
    type: linked.target ? `ref:${linked.target.name}` : linked.type,
    nullable: linked.nullable,
    default: null,
    ...(linked.on_delete ? { on_delete: linked.on_delete } : on_delete && { on_delete }),
  });
  if (problem !== null) throw validationError('on_delete', problem);
  return linked;
}

function changedChecks({ type, checks }: ColumnRow, set: ColumnChanges['checks']): ColumnRow['checks'] {
  const parsed = parseChecks(type, { ...checks, ...set });
  if (!parsed.ok) throw validationError(`checks.${parsed.check}`, parsed.detail);
  return checkNames.some((name) => parsed.checks[name] !== undefined) ? parsed.checks : null;
}

function changedDefault(before: ColumnRow, after: ColumnRow, value: ColumnChanges['default']): string | null {
  if (value === undefined && after.type === before.type) return before.default_text;
  const literal = literalText(after.type, value === undefined ? before.default_text : value);
  if (!literal.ok) throw validationError('default', literal.detail);
  const { text } = literal;
  if (text === null) return null;
  const checked = parseDefaultText(after.type, text);
  if (!checked.ok) throw validationError('default', checked.detail);
  const isTime = after.role === 'created_at' || after.role === 'updated_at';
  const isBadId = after.role === 'id' && !isIdDefault({ type: after.type, default: text });
  if (isTime || isBadId) throw fail('immutable_field', { detail: `The service sets ${before.name}.` });
  return checked.value;
}

function requireRulesFit(row: TableRow, column: ColumnRow, type: ColumnRow['type']): void {
  if (!isNamedByRules(row.rules, column.name)) return;
  const inUseError = (detail: string) => fail('column_in_use', { detail });
  if ((type === 'text' || type === 'text[]') && isRebuiltFor(column, { ...column, type }))
    throw inUseError(`The access rules of the table compare ${column.name}, and texts compare differently.`);
  const columns = row.columns.map((each) => (each === column ? { ...each, type } : each));
  const owner = columns.find(({ number }) => number === row.owner_column);
  try {
    checkRules(row.rules, columns, owner);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    throw inUseError(
      `The access rules of the table do not fit the type ${type}: ${error.detail ?? error.message}`,
    );
  }
}

function columnAudit(column: ColumnRow, before: ColumnRow): Record<string, unknown> {
  const { name, nullable, default_text, type, checks, target, on_delete } = column;
  const isTyped = before.checks || checks || before.type !== type || before.target || target;
  return {
    name,
    nullable,
    default: default_text,
    ...(isTyped && { type: target ? `ref:${target.name}` : typeWithChecks(type, checks ?? {}) }),
    ...(on_delete && { on_delete }),
  };
}
