import { type Condition, printRowFilter } from '@svc/contract/filter.ts';
import { placeholderProblem } from '@svc/contract/placeholders.ts';
import {
  type Alternative,
  defaultPreset,
  isOpenToChanges,
  parseAlternative,
  presetOf,
  presetRules,
  ruleActions,
  type TableRules,
} from '@svc/contract/table-rules.ts';
import type { createTable, TableAccess, tableRules } from '@svc/contract/tables.shapes.ts';
import type { z } from 'zod';
import type { AppCtx, AppMutationCtx } from '../../core/context.ts';
import { Failure, validationError } from '../../core/problem.ts';
import { isDeepEqual } from '../../core/values.ts';
import { withoutCallerValues } from './caller-values.ts';
import { planCondition } from './conditions.ts';
import { auditTable, lockTable, requireTable, saveTableChange } from './lock-table.ts';
import type { ColumnRow, TableRow } from './store.ts';

type RulesInput = z.output<typeof tableRules>;

export async function getTableAccess(ctx: AppCtx, input: { table: string }) {
  return accessRecord(await requireTable(ctx, input.table));
}

export async function setTableAccess(ctx: AppMutationCtx, input: { table: string; set: RulesInput }) {
  const row = await lockTable(ctx, input.table);
  const rules = withRules(row.rules, input.set);
  const owner = row.columns.find(({ number }) => number === row.owner_column);
  checkRules(rules, row.columns, owner);
  checkPlaceholders(rules, row.rules);
  auditTable(ctx, 'tables.setAccess', row, { rules: row.rules }, { rules });
  if (isOpenToChanges(rules)) ctx.warn('Every user of the app can change every row.');
  if (isDeepEqual(rules, row.rules)) return accessRecord(row);
  await saveTableChange(ctx, row, { rules });
  return accessRecord({ ...row, rules });
}

export function newTableRules(
  columns: readonly ColumnRow[],
  declared: DeclaredAccess,
): TableRules {
  const rules = declaredRules(declared);
  if (declared.access === undefined) return rules;
  const owner = columns.find(({ name }) => name === declared.owner_column);
  checkRules(rules, columns, owner);
  checkPlaceholders(rules, presetRules[defaultPreset(declared.owner_column)]);
  return rules;
}

type DeclaredAccess = Pick<z.output<typeof createTable.body>, 'access' | 'owner_column'>;

/** Whether they fit the table is not checked. */
export function declaredRules({ access, owner_column }: DeclaredAccess): TableRules {
  const preset = presetRules[defaultPreset(owner_column)];
  if (access === undefined) return preset;
  return withRules(preset, typeof access === 'string' ? { preset: access } : access);
}

function withRules(before: TableRules, { preset, write, columns, ...lists }: RulesInput): TableRules {
  const start = preset ? presetRules[preset] : before;
  const changes = write && { insert: write, update: write, delete: write };
  const set = Object.fromEntries(Object.entries(lists).filter(([, list]) => list !== undefined));
  return { ...start, ...changes, ...set, columns: columns ?? start.columns };
}

/** Where a rule names what the table does not have, it would apply to nobody. */
export function checkRules(
  rules: TableRules,
  columns: readonly ColumnRow[],
  owner: ColumnRow | undefined,
): void {
  for (const { field, action, alternatives } of listedRules(rules)) {
    for (const alternative of alternatives) {
      const { who, where } = parseAlternative(alternative);
      if (who.kind === 'own' && !owner)
        throw validationError(field, '`own` needs a table with an owner column');
      checkFilter({ field, action, where }, columns);
    }
  }
  for (const name of Object.keys(rules.columns)) {
    const column = columns.find((each) => each.name === name);
    if (!column) throw validationError('columns', `the table has no column ${name}`);
  }
}

/** Rules that are stored already keep their meaning. */
function checkPlaceholders(rules: TableRules, before: TableRules): void {
  const stored = listedRules(before);
  for (const { field, action, alternatives } of listedRules(rules)) {
    const known = stored.find((each) => each.field === field)?.alternatives ?? [];
    for (const alternative of alternatives) {
      if (known.some((each) => isDeepEqual(each, alternative))) continue;
      const problem = placeholderProblem(parseAlternative(alternative).where, rowsOf[action]);
      if (problem) throw validationError(field, problem, 'unknown_placeholder');
    }
  }
}

const rowsOf = { read: [], insert: ['new'], update: ['new', 'old'], delete: [] } as const;

interface ListedRule {
  field: string;
  action: 'read' | 'insert' | 'update' | 'delete';
  alternatives: readonly Alternative[];
}

function listedRules(rules: TableRules): ListedRule[] {
  const lists = ruleActions.map((action) => ({ field: action, action, alternatives: rules[action] }));
  const columns = Object.entries(rules.columns).flatMap(([name, { read = [], write = [] }]) => [
    { field: `columns.${name}.read`, action: 'read' as const, alternatives: read },
    { field: `columns.${name}.write`, action: 'update' as const, alternatives: write },
  ]);
  return [...lists, ...columns];
}

function checkFilter(
  { field, action, where }: Pick<ListedRule, 'field' | 'action'> & { where: Condition[] },
  columns: readonly ColumnRow[],
): void {
  const find = (name: string) => {
    const column = columns.find((each) => each.name === name);
    if (!column)
      throw validationError(field, `the table has no column ${name.slice(0, 63)}`, 'unknown_column');
    return { ...column, physical: '', default: null };
  };
  const rowRefs = action === 'insert' || action === 'update';
  try {
    for (const condition of where) planCondition(find, withoutCallerValues(condition), { rowRefs });
  } catch (error) {
    throw error instanceof Failure ? validationError(field, error.detail ?? error.message) : error;
  }
}

export function isNamedByRules(rules: TableRules, column: string): boolean {
  let isNamed = Object.hasOwn(rules.columns, column);
  renameInRules(rules, (name) => {
    if (name === column) isNamed = true;
    return name;
  });
  return isNamed;
}

export function renameInRules(rules: TableRules, rename: (name: string) => string): TableRules {
  const list = (alternatives: readonly Alternative[]) =>
    alternatives.map((alternative): Alternative => {
      const { where } = parseAlternative(alternative);
      if (where.length === 0) return alternative;
      const text = printRowFilter(where.map((condition) => renameInCondition(condition, rename)));
      return typeof alternative === 'string' ? text : { ...alternative, where: text };
    });
  const columns = Object.entries(rules.columns).map(([name, { read, write }]) => [
    rename(name),
    { ...(read && { read: list(read) }), ...(write && { write: list(write) }) },
  ]);
  return {
    read: list(rules.read),
    insert: list(rules.insert),
    update: list(rules.update),
    delete: list(rules.delete),
    columns: Object.fromEntries(columns),
  };
}

function renameInCondition(condition: Condition, rename: (name: string) => string): Condition {
  if (condition.kind !== 'test')
    return { ...condition, parts: condition.parts.map((part) => renameInCondition(part, rename)) };
  const column = rename(condition.column);
  const other = typeof condition.operand === 'string' ? /^@(old|new)\.(.+)$/s.exec(condition.operand) : null;
  if (!other?.[2]) return { ...condition, column };
  return { ...condition, column, operand: `@${other[1]}.${rename(other[2])}` } as Condition;
}

function accessRecord(row: TableRow): z.output<typeof TableAccess> {
  const { rules } = row;
  return { table: row.name, preset: presetOf(rules), ...rules, open_to_changes: isOpenToChanges(rules) };
}
