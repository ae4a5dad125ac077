import { type Condition, FilterError, parseRowFilter, printRowFilter } from '@svc/contract/filter.ts';
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
import { listConnectorsOfApp } from '../../access/connectors/connectors.ts';
import { listGrantRowsNaming } from '../../access/grants/grants.ts';
import { covers } from '../../access/grants/rules.ts';
import { loadPoliciesOf, type PolicyRow } from '../../access/policies/policies.ts';
import { type AppCtx, type AppMutationCtx, appRef } from '../../core/context.ts';
import { Failure, fail, validationError } from '../../core/problem.ts';
import { isDeepEqual } from '../../core/values.ts';
import { planCondition, withoutCallerValues } from './conditions.ts';
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

export function newTableRules(columns: readonly ColumnRow[], declared: DeclaredAccess): TableRules {
  const rules = declaredRules(declared);
  if (declared.access === undefined) return rules;
  const owner = columns.find(({ name }) => name === declared.owner_column);
  checkRules(rules, columns, owner);
  checkPlaceholders(rules, presetRules[defaultPreset(declared.owner_column)]);
  return rules;
}

type DeclaredAccess = Pick<z.output<typeof createTable.body>, 'access' | 'owner_column'>;

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
export function checkRules(rules: TableRules, columns: readonly ColumnRow[], owner: ColumnRow | undefined) {
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

const namedMax = 5;

async function loadUses(ctx: AppMutationCtx, table: string) {
  const connectors = await listConnectorsOfApp(ctx.db, appRef(ctx));
  const on = { connectorIds: connectors.map(({ id }) => id), path: `${ctx.app.slug}/${table}` };
  if (connectors.length === 0) return { ...on, grants: [], policies: [] };
  return {
    ...on,
    grants: await listGrantRowsNaming(ctx.db, ctx.tenant.id, on),
    policies: (await loadPoliciesOf(ctx.db, ctx.tenant.id, on.connectorIds)).filter(
      ({ resource_path }) => resource_path === '' || covers(resource_path, on.path),
    ),
  };
}

const toList = (items: readonly string[]) => items.slice(0, namedMax).join(', ');

/** Under another name, a policy would no longer narrow the table; a table made later would be open by its grants. */
export async function requireRenamable(ctx: AppMutationCtx, { name }: Pick<TableRow, 'name'>): Promise<void> {
  const { grants, policies, path } = await loadUses(ctx, name);
  const naming = policies.filter(({ resource_path }) => resource_path === path);
  refuseWhileGranted(grants);
  if (naming.length > 0)
    throw fail('table_in_use', {
      detail: `Access policies name it: ${toList(naming.map((policy) => policy.name))}.`,
    });
}

export async function requireDroppable(ctx: AppMutationCtx, { name }: Pick<TableRow, 'name'>): Promise<void> {
  refuseWhileGranted((await loadUses(ctx, name)).grants);
}

function refuseWhileGranted(grants: readonly { id: string }[]): void {
  if (grants.length > 0)
    throw fail('table_in_use', { detail: `Active grants name it: ${toList(grants.map(({ id }) => id))}.` });
}

export async function warnIfGranted(ctx: AppMutationCtx, name: string): Promise<void> {
  const { grants } = await loadUses(ctx, name);
  if (grants.length > 0)
    ctx.warn(
      `Active grants name ${name}, so people can use it at once: ${toList(grants.map(({ id }) => id))}.`,
    );
}

/** Otherwise another column could take the name, and with it the place in the policy. */
export async function requireUnnamedColumn(
  ctx: AppMutationCtx,
  { name }: Pick<TableRow, 'name'>,
  column: string,
): Promise<void> {
  const { policies } = await loadUses(ctx, name);
  const naming = policies.filter((policy) => columnsNamedBy(policy).has(column));
  if (naming.length > 0)
    throw fail('column_in_use', {
      detail: `Access policies name ${column}: ${toList(naming.map((policy) => policy.name))}.`,
    });
}

export async function hasEnforcedPolicy(ctx: AppMutationCtx, { name }: Pick<TableRow, 'name'>) {
  const { policies } = await loadUses(ctx, name);
  return policies.some(({ enforced, enabled }) => enforced && enabled);
}

function columnsNamedBy({ columns, masks, row_filter }: PolicyRow): Set<string> {
  const inCondition = (condition: Condition): string[] =>
    condition.kind === 'test' ? [condition.column] : condition.parts.flatMap(inCondition);
  return new Set([
    ...columns.names,
    ...masks.map(({ column }) => column),
    ...parsedFilter(row_filter).flatMap(inCondition),
  ]);
}

function parsedFilter(text: string): readonly Condition[] {
  try {
    return parseRowFilter(text);
  } catch (error) {
    if (error instanceof FilterError) return [];
    throw error;
  }
}
