import { refTarget } from '@svc/contract/column-families.ts';
import type { ColumnSpec } from '@svc/contract/column-spec.ts';
import type { ColumnType } from '@svc/contract/columns.ts';
import type { declaredTable } from '@svc/contract/declared-tables.shapes.ts';
import { typeChangeProblem } from '@svc/contract/type-changes.ts';
import type { z } from 'zod';
import { fail } from '../../core/problem.ts';
import { isDeepEqual } from '../../core/values.ts';
import { newTableRules, renameInRules } from './access.ts';
import { parseColumns } from './columns.ts';
import { planIndexes, storedIndexes } from './indexes.ts';
import { inReferenceOrder } from './references.ts';
import { columnSpec, type NewColumn, tableRecord, withServiceColumns } from './rules.ts';
import { inOrder, isShortened, type SchemaStep } from './schema-steps.ts';
import type { ColumnRow, TableRow } from './store.ts';

type DeclaredTable = z.output<typeof declaredTable>;
export type DeclaredTables = Readonly<Record<string, DeclaredTable>>;

/** Steps that make the stored tables as declared, in order, drops included. */
export function planSchema(stored: readonly TableRow[], declared: DeclaredTables): SchemaStep[] {
  const { tables, steps } = renameTables(stored, declared);
  const created = Object.entries(declared).filter(([name]) => !tables.has(name));
  const idType = (name: string): ColumnType => {
    const columns = tables.get(name)?.columns ?? declared[name]?.columns;
    return columns?.find((column) => column.name === 'id')?.type ?? 'uuid';
  };
  const dropped = [...tables.values()].filter(({ name }) => !Object.hasOwn(declared, name));
  for (const [name, table] of Object.entries(declared)) {
    const row = tables.get(name);
    if (row) steps.push(...planTable(row, table, idType));
  }
  steps.push(...planCreation(created, idType), ...planDrops(dropped));
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

function withRenamedTarget(column: ColumnRow, renamed: ReadonlyMap<string, string>): ColumnRow {
  const name = renamed.get(column.target?.name ?? '');
  return column.target && name !== undefined ? { ...column, target: { ...column.target, name } } : column;
}

function planTable(row: TableRow, declared: DeclaredTable, idType: IdType): SchemaStep[] {
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
  const columns = planColumns(renamed, declared, idType);
  return [
    ...renames,
    ...columns.steps,
    ...planOptions(row, declared),
    ...planAccess({ ...renamed, columns: columns.after }, declared, owner),
    ...planTableIndexes(renamed, declared, columns),
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

function planColumns(row: TableRow, { columns: declared }: DeclaredTable, idType: IdType) {
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
    const next = withValueType(draft, idType);
    steps.push(...changeColumn(table, column, next));
    return { ...column, type: next.type, target: next.target ?? null };
  });
  for (const draft of drafts) {
    if (row.columns.some(({ name }) => name === draft.name)) continue;
    steps.push({ kind: 'add_column', table, column: columnSpec(draft) });
    after.push({ ...withValueType(draft, idType), number: 0 });
  }
  return { steps, after };
}

type IdType = (table: string) => ColumnType;

function withValueType(draft: NewColumn, idType: IdType): NewColumn {
  const name = refTarget(draft.type);
  return name === null ? draft : { ...draft, type: idType(name), target: { name, id_number: 0 } };
}

function changeColumn(table: string, column: ColumnRow, draft: NewColumn): SchemaStep[] {
  const [before, after] = [columnSpec(column), columnSpec(draft)];
  if (isDeepEqual(before, after)) return [];
  const isLossy = typeChangeProblem(column.type, draft.type) !== null;
  const lossy = isLossy && { isLossy };
  if (!draft.target || column.type === draft.type)
    return [{ kind: 'change_column', table, before, after, ...lossy }];
  // Only a column with the type of the ids can become a reference.
  const { name, nullable } = after;
  const between: ColumnSpec = { name, type: draft.type, nullable, default: null };
  return [
    { kind: 'change_column', table, before, after: between, ...lossy },
    { kind: 'change_column', table, before: between, after, ...(isLossy && { isLate: true }) },
  ];
}

const optionNames = ['description', 'changes', 'history', 'soft_delete'] as const;

/** Shortening a time is a step of its own, because it loses something. */
function planOptions(row: TableRow, declared: DeclaredTable): SchemaStep[] {
  const record = tableRecord(row);
  const changes = optionNames
    .filter((name) => declared[name] !== undefined && declared[name] !== record[name])
    .map((name) => ({ before: { [name]: record[name] }, after: { [name]: declared[name] } }));
  const shortened = changes.filter(({ before, after }) => isShortened(before, after));
  return [changes.filter((change) => !shortened.includes(change)), shortened]
    .filter((some) => some.length > 0)
    .map((some) => ({
      kind: 'update_table',
      table: row.name,
      before: Object.assign({}, ...some.map(({ before }) => before)),
      after: Object.assign({}, ...some.map(({ after }) => after)),
    }));
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
function planTableIndexes(
  row: TableRow,
  { columns, indexes }: DeclaredTable,
  { steps, after }: ReturnType<typeof planColumns>,
): SchemaStep[] {
  if (columns === undefined && indexes === undefined) return [];
  const stored = storedIndexes(row);
  const linkedBy = (kind: 'add_column' | 'change_column') =>
    steps.flatMap((step) => {
      if (step.kind !== kind) return [];
      const { name, type } = step.kind === 'add_column' ? step.column : step.after;
      const isIndexed = kind === 'change_column' && stored.some((index) => index.columns[0] === name);
      return refTarget(type) !== null && !isIndexed ? [name] : [];
    });
  return planIndexes(row.name, {
    stored,
    declared: indexes ?? [],
    references: referenceNames(after),
    linked: [...linkedBy('add_column'), ...linkedBy('change_column')],
    converted: steps.flatMap((step) =>
      step.kind === 'change_column' && step.isLossy ? [step.after.name] : [],
    ),
  });
}

const referenceNames = (columns: readonly NewColumn[]) =>
  columns.filter(({ target }) => target).map(({ name }) => name);

/** Tables that refer to each other get one of the columns afterwards. */
function planCreation(created: readonly (readonly [string, DeclaredTable])[], idType: IdType): SchemaStep[] {
  const tables = created.map(([name, table]) => ({ name, table, columns: table.columns ?? [] }));
  return inReferenceOrder(tables).flatMap(({ table: { name, table, columns }, later }): SchemaStep[] => {
    const { description = '', owner_column = null, access, changes, history, soft_delete } = table;
    const [now, awaited] = [false, true].map((isLater) =>
      columns.filter((column) => later.has(column) === isLater).map(withoutWas),
    ) as [ColumnSpec[], ColumnSpec[]];
    const isWhole = awaited.length === 0;
    const steps: SchemaStep[] = [
      {
        kind: 'create_table',
        table: name,
        as: {
          description,
          owner_column,
          columns: now,
          ...(changes !== undefined && { changes }),
          ...(history !== undefined && { history }),
          ...(soft_delete !== undefined && { soft_delete }),
          ...(isWhole && { access }),
        },
      },
      ...awaited.map((column): SchemaStep => ({ kind: 'add_column', table: name, column })),
    ];
    const stored = parseColumns([...now, ...awaited]).map((column) => withValueType(column, idType));
    if (access !== undefined && !isWhole) {
      const all = withServiceColumns(stored).map((column, at) => ({ number: at + 1, ...column }));
      const before = newTableRules(all, { access: undefined, owner_column });
      const after = newTableRules(all, { access, owner_column });
      steps.push({ kind: 'set_access', table: name, before, after });
    }
    const references = referenceNames(stored);
    const declared = table.indexes ?? [];
    return [
      ...steps,
      ...planIndexes(name, { stored: [], declared, references, linked: references, converted: [] }),
    ];
  });
}

function withoutWas({ was: _, ...column }: ColumnSpec & { was?: string }): ColumnSpec {
  return column;
}

/** Tables that refer to others go first. Where they refer to each other, a column is made a plain one before. */
function planDrops(dropped: readonly TableRow[]): SchemaStep[] {
  const tables = dropped.map((row) => ({ name: row.name, row, columns: row.columns.map(columnSpec) }));
  const ordered = inReferenceOrder(tables).reverse();
  return ordered.map(({ table: { name: table } }) => {
    const unlink = ordered.flatMap(({ table: other, later }) =>
      other.columns.flatMap((column, at) => {
        const type = other.row.columns[at]?.type;
        const isBlocked = later.has(column) && refTarget(column.type) === table && type;
        return isBlocked ? [{ table: other.name, column: column.name, type }] : [];
      }),
    );
    return { kind: 'drop_table', table, ...(unlink.length > 0 && { unlink }) };
  });
}
