import type { ColumnSpec } from '@svc/contract/column-spec.ts';
import type { ColumnType } from '@svc/contract/columns.ts';
import type { declaredTable } from '@svc/contract/declared-tables.shapes.ts';
import { typeChangeProblem } from '@svc/contract/type-changes.ts';
import type { z } from 'zod';
import { fail } from '../../core/problem.ts';
import { isDeepEqual } from '../../core/values.ts';
import { newTableRules, renameInRules } from './access.ts';
import { parseColumns } from './columns.ts';
import { columnSpec, indexRecord, withServiceColumns } from './rules.ts';
import { type DeclaredIndex, inOrder, type SchemaStep } from './schema-steps.ts';
import type { ColumnRow, TableRow } from './store.ts';

export type DeclaredTable = z.output<typeof declaredTable>;
export type DeclaredTables = Readonly<Record<string, DeclaredTable>>;

/** What makes the stored tables as declared, in order, drops included. */
export function planSchema(stored: readonly TableRow[], declared: DeclaredTables): SchemaStep[] {
  const { tables, steps } = renameTables(stored, declared);
  const created = Object.entries(declared).filter(([name]) => !tables.has(name));
  const dropped = [...tables.values()].filter(({ name }) => !Object.hasOwn(declared, name));
  for (const [name, table] of Object.entries(declared)) {
    const row = tables.get(name);
    if (row) steps.push(...planTable(row, table));
  }
  steps.push(...planCreation(created), ...planDrops(dropped));
  return inOrder(steps);
}

function renameTables(stored: readonly TableRow[], declared: DeclaredTables) {
  const steps: SchemaStep[] = [];
  const tables = new Map(stored.map((row) => [row.name, row]));
  for (const [to, { was }] of Object.entries(declared)) {
    const row = was === undefined || tables.has(to) ? undefined : tables.get(was);
    if (!row) continue;
    tables.delete(row.name);
    tables.set(to, { ...row, name: to });
    steps.push({ kind: 'rename_table', table: row.name, to });
  }
  const renamed = new Map(steps.map((step) => [step.table, step.kind === 'rename_table' ? step.to : '']));
  for (const [name, row] of tables)
    tables.set(name, { ...row, columns: row.columns.map((column) => withRenamedTarget(column, renamed)) });
  return { tables, steps };
}

const referencePattern = /^(ref[:(])([a-z][a-z0-9_]*)(.*)$/s;

/** The table that a column of this type refers to, which must exist before the column. */
function referencedTable(type: string): string | null {
  return referencePattern.exec(type)?.[2] ?? null;
}

function withRenamedTarget(column: ColumnRow, renamed: ReadonlyMap<string, string>): ColumnRow {
  const to = renamed.get(referencedTable(column.type) ?? '');
  if (to === undefined) return column;
  return { ...column, type: column.type.replace(referencePattern, `$1${to}$3`) as ColumnType };
}

function planTable(row: TableRow, declared: DeclaredTable): SchemaStep[] {
  const table = row.name;
  const renames = (declared.columns ?? []).flatMap((column): SchemaStep[] => {
    if (!('was' in column) || column.was === undefined) return [];
    const has = (name: string) => row.columns.some((each) => each.name === name);
    const isDue = has(column.was) && !has(column.name);
    return isDue ? [{ kind: 'rename_column', table, column: column.was, to: column.name }] : [];
  });
  const renamed = renameColumns(row, renames);
  const owner = renamed.columns.find(({ number }) => number === row.owner_column)?.name ?? null;
  if (declared.owner_column !== undefined && declared.owner_column !== owner)
    throw fail('immutable_field', {
      detail: `Table ${table} ${owner === null ? 'has no owner column' : `has the owner column ${owner}`}, which cannot change.`,
    });
  const columns = planColumns(renamed, declared);
  return [
    ...renames,
    ...columns.steps,
    ...planDescription(row, declared),
    ...planAccess({ ...renamed, columns: columns.after }, declared, owner),
    ...planIndexes(renamed, declared, columns.steps),
  ];
}

function renameColumns(row: TableRow, renames: readonly SchemaStep[]): TableRow {
  const names = new Map(
    renames.flatMap((step) => (step.kind === 'rename_column' ? [[step.column, step.to] as const] : [])),
  );
  const rename = (name: string) => names.get(name) ?? name;
  return {
    ...row,
    rules: renameInRules(row.rules, rename),
    columns: row.columns.map((column) => ({ ...column, name: rename(column.name) })),
  };
}

const isTime = ({ role }: ColumnRow) => role === 'created_at' || role === 'updated_at';

function planColumns(row: TableRow, { columns: declared }: DeclaredTable) {
  const table = row.name;
  const steps: SchemaStep[] = [];
  if (declared === undefined) return { steps, after: row.columns };
  const drafts = parseColumns(declared);
  const after = row.columns.map((column) => {
    const draft = drafts.find(({ name }) => name === column.name);
    if (!draft) {
      if (column.role === 'plain' && column.number !== row.owner_column)
        steps.push({ kind: 'drop_column', table, column: columnSpec(column) });
      return column;
    }
    // The service sets the times, whatever the file says of them.
    if (isTime(column)) return column;
    const [before, next] = [columnSpec(column), columnSpec(draft)];
    if (isDeepEqual(before, next)) return column;
    steps.push({ kind: 'change_column', table, before, after: next });
    return { ...column, type: draft.type };
  });
  for (const draft of drafts) {
    if (row.columns.some(({ name }) => name === draft.name)) continue;
    steps.push({ kind: 'add_column', table, column: columnSpec(draft) });
    after.push({ ...draft, number: 0 });
  }
  return { steps, after };
}

function planDescription({ name, description }: TableRow, declared: DeclaredTable): SchemaStep[] {
  if (declared.description === undefined || declared.description === description) return [];
  const after = { description: declared.description };
  return [{ kind: 'update_table', table: name, before: { description }, after }];
}

/** Starts from the default of the table, not from its present rules: otherwise the result would depend on history. */
function planAccess(row: TableRow, { access }: DeclaredTable, owner_column: string | null): SchemaStep[] {
  if (access === undefined) return [];
  const after = newTableRules(row.columns, { access, owner_column });
  return isDeepEqual(after, row.rules)
    ? []
    : [{ kind: 'set_access', table: row.name, before: row.rules, after }];
}

/** A table that is declared without columns is left as it is, indexes included. */
function planIndexes(
  row: TableRow,
  { columns, indexes: declared }: DeclaredTable,
  changes: readonly SchemaStep[],
): SchemaStep[] {
  if (columns === undefined && declared === undefined) return [];
  const table = row.name;
  const left = row.indexes.map((index) => {
    const { name, columns: names, unique } = indexRecord(row, index);
    return { name, columns: names, unique };
  });
  const take = (isWanted: (index: (typeof left)[number]) => boolean) => {
    const at = left.findIndex(isWanted);
    return at < 0 ? undefined : left.splice(at, 1)[0];
  };
  const isSame = (a: DeclaredIndex, b: DeclaredIndex) =>
    a.unique === b.unique && isDeepEqual(a.columns, b.columns);
  const converted = changes.flatMap((step) =>
    step.kind === 'change_column' && typeChangeProblem(step.before.type, step.after.type) !== null
      ? [step.after.name]
      : [],
  );
  const late = (index: DeclaredIndex) =>
    index.columns.some((name) => converted.includes(name)) && { isLate: true };
  // By name first: an index without a name must not take one that another names.
  const named = (declared ?? []).filter((index) => index.name !== undefined);
  const unnamed = (declared ?? []).filter((index) => index.name === undefined);
  const steps = [...named, ...unnamed].flatMap((index): SchemaStep[] => {
    const { name } = index;
    const found = take((each) => (name === undefined ? isSame(each, index) : each.name === name));
    if (!found) return [{ kind: 'add_index', table, index, ...late(index) }];
    if (isSame(found, index)) return [];
    const after = { ...index, name: found.name };
    return [{ kind: 'replace_index', table, before: found, after, ...late(index) }];
  });
  return [...steps, ...left.map((index): SchemaStep => ({ kind: 'drop_index', table, index }))];
}

/** Tables before those that refer to them; where they refer to each other, a column is added afterwards. */
function planCreation(created: readonly (readonly [string, DeclaredTable])[]): SchemaStep[] {
  const steps: SchemaStep[] = [];
  const open = new Map(created);
  while (open.size > 0) {
    const free = [...open].find(([name, table]) => awaitedColumns(name, table, open).length === 0);
    const [name, table] = free ?? [...open][0] ?? ['', {}];
    const awaited = awaitedColumns(name, table, open);
    const { description = '', owner_column = null, columns = [], access } = table;
    const isWhole = awaited.length === 0;
    steps.push({
      kind: 'create_table',
      table: name,
      as: {
        description,
        owner_column,
        columns: columns.filter((column) => !awaited.includes(column)).map(withoutWas),
        ...(isWhole && { access }),
      },
    });
    for (const column of awaited) steps.push({ kind: 'add_column', table: name, column: withoutWas(column) });
    if (access !== undefined && !isWhole) {
      const all = withServiceColumns(parseColumns(columns)).map((column, at) => ({
        number: at + 1,
        ...column,
      }));
      const before = newTableRules(all, { access: undefined, owner_column });
      const after = newTableRules(all, { access, owner_column });
      steps.push({ kind: 'set_access', table: name, before, after });
    }
    for (const index of table.indexes ?? []) steps.push({ kind: 'add_index', table: name, index });
    open.delete(name);
  }
  return steps;
}

function awaitedColumns(name: string, { columns = [] }: DeclaredTable, open: ReadonlyMap<string, unknown>) {
  return columns.filter(({ type }) => {
    const target = referencedTable(type);
    return target !== null && target !== name && open.has(target);
  });
}

function withoutWas({ was: _, ...column }: ColumnSpec & { was?: string }): ColumnSpec {
  return column;
}

/** Tables that refer to others go first; where they refer to each other, the columns go before. */
function planDrops(dropped: readonly TableRow[]): SchemaStep[] {
  const steps: SchemaStep[] = [];
  let open = [...dropped];
  const referencesTo = (target: string) =>
    open.flatMap(({ name: table, columns }) =>
      columns
        .filter(({ type }) => table !== target && referencedTable(type) === target)
        .map((column): SchemaStep => ({ kind: 'drop_column', table, column: columnSpec(column) })),
    );
  while (open.length > 0) {
    const next = open.find(({ name }) => referencesTo(name).length === 0) ?? open[0];
    if (!next) break;
    steps.push(...referencesTo(next.name), { kind: 'drop_table', table: next.name });
    open = open.filter((row) => row !== next);
  }
  return steps;
}
