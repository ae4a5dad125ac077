import type { ColumnType } from '@svc/contract/columns.ts';
import type { CatalogueColumn, TableCatalogue } from '../tables/catalogue.ts';
import {
  allOf,
  always,
  anyOf,
  isAlways,
  isNever,
  never,
  type PlannedCondition,
} from '../tables/conditions.ts';
import { compareStrictness, type HashKeys, type Mask, maskedType, stricter } from './masks.ts';
import { orderColumn, type TableView, type ViewColumn } from './row-table.ts';

export type ReadAction = 'read' | 'export';
export type ChangeAction = 'insert' | 'update' | 'delete';
export type RowAction = ReadAction | ChangeAction;
export const rowActions = ['read', 'insert', 'update', 'delete', 'export'] as const satisfies RowAction[];

export interface Source {
  kind: 'owner' | 'rule' | 'table_grant' | 'grant' | 'policy';
  id: string;
  text: string;
}

export interface Alternative {
  because: readonly Source[];
  reads: Partial<Record<ReadAction, ReadPart>>;
  changes: Partial<Record<ChangeAction, ChangePart>>;
  insertsOwn: boolean;
}

export interface ReadPart {
  where: PlannedCondition;
  /** Null: all columns in the clear. A column that is absent is hidden. */
  columns: ReadonlyMap<string, ColumnPart> | null;
  policies?: readonly FittingPolicy[];
  /** Policies leave no row: the action is allowed and finds nothing. */
  isEmptied?: boolean;
}

export interface ColumnPart {
  when: PlannedCondition;
  mask: Mask | null;
}

export interface ChangePart {
  where: PlannedCondition;
  /** Null: all columns. */
  writable: ReadonlyMap<string, PlannedCondition> | null;
  isEmptied?: boolean;
}

export interface Access {
  actions: ReadonlySet<RowAction>;
  alternatives: readonly Alternative[];
  insertsOwn: boolean;
}

export function combine(alternatives: readonly Alternative[]): Access | null {
  if (alternatives.length === 0) return null;
  const insertsOwn = alternatives.every(
    ({ insertsOwn, changes }) => insertsOwn || isNever(changes.insert?.where ?? never),
  );
  return { actions: new Set(alternatives.flatMap(actionsOf)), alternatives, insertsOwn };
}

const isAllowed = (part: ReadPart | ChangePart | undefined) =>
  !!part && (part.isEmptied === true || !isNever(part.where));

export function actionsOf({ reads, changes }: Alternative): RowAction[] {
  return rowActions.filter((action) =>
    isAllowed(action === 'read' || action === 'export' ? reads[action] : changes[action]),
  );
}

export function changeable(
  { alternatives }: Access,
  action: ChangeAction,
  columns: readonly string[] = [],
): PlannedCondition {
  return anyOf(
    alternatives.map(({ changes }) => {
      const part = changes[action];
      if (!part) return never;
      const { writable, where } = part;
      return writable ? allOf([where, ...columns.map((name) => writable.get(name) ?? never)]) : where;
    }),
  );
}

export function isWritable({ alternatives }: Access, action: 'insert' | 'update', column: string): boolean {
  return alternatives.some(({ changes }) => {
    const part = changes[action];
    return (
      !!part && isAllowed(part) && !isNever(part.writable?.get(column) ?? (part.writable ? never : always))
    );
  });
}

export function viewOf(
  { alternatives }: Access,
  action: ReadAction,
  catalogue: TableCatalogue,
  keys: HashKeys,
): TableView {
  const allowed = alternatives.flatMap(({ reads }) => reads[action] ?? []).filter(isAllowed);
  const matching = allowed.filter((part) => !isNever(part.where));
  const parts = matching.length > 0 ? matching : allowed;
  const rows = anyOf(parts.map(({ where }) => where));
  if (parts.length > 0 && parts.every(({ columns }) => columns === null))
    return { rows, columns: null, keys };
  const columns = catalogue.columns.flatMap((source) => viewColumn(source, parts) ?? []);
  const isWhole =
    columns.length === catalogue.columns.length && columns.every(({ column, source }) => column === source);
  if (isWhole) return { rows, columns: null, keys };
  const { idColumn } = catalogue;
  const key = columns.find(({ source }) => source === idColumn);
  if (key?.cases.length === 0) return { rows, columns, keys };
  if (key) return { rows, columns: [...columns, orderingColumn(idColumn, orderColumn)], keys };
  const hiddenKey = parts.length > 0 ? orderingColumn(idColumn) : unreadKey(idColumn);
  return { rows, columns: [...columns, hiddenKey], keys };
}

function viewColumn(source: CatalogueColumn, parts: readonly ReadPart[]): ViewColumn | null {
  const cases = parts.flatMap(({ where, columns }) => {
    const part = columns ? columns.get(source.name) : { when: always, mask: null };
    return part && !isNever(part.when) ? [{ where, ...part }] : [];
  });
  const [first] = cases;
  if (!first) return null;
  const isSame =
    cases.length === parts.length &&
    cases.every(({ when, mask }) => isAlways(when) && isSameMask(mask, first.mask));
  const isEverywhere = ({ where, when, mask }: (typeof cases)[number]) =>
    isAlways(where) && isAlways(when) && mask === null;
  if ((isSame && first.mask === null) || cases.some(isEverywhere))
    return { column: source, source, cases: [] };
  const types = new Set(cases.map(({ mask }) => (mask ? maskedType(mask, source.type) : source.type)));
  const column = { ...source, type: commonType(types, source), nullable: true };
  if (isSame) return { column, source, cases: [{ when: always, mask: first.mask }] };
  const permissiveFirst = cases.toSorted((one, other) => compareStrictness(one.mask, other.mask));
  return {
    column,
    source,
    cases: permissiveFirst.map(({ where, when, mask }) => ({ when: allOf([where, when]), mask })),
  };
}

/** A number that some rows show rounded stays a number; where some show a hash, all are texts. */
function commonType(types: ReadonlySet<ColumnType>, { type }: CatalogueColumn): ColumnType {
  const [first = type] = types;
  if (types.size <= 1) return first;
  const rounded = maskedType({ kind: 'round', args: {} }, type);
  return [...types].every((each) => each === type || each === rounded) ? rounded : 'text';
}

const isSameMask = (one: Mask | null, other: Mask | null) =>
  one === other || JSON.stringify(one) === JSON.stringify(other);

function orderingColumn(idColumn: CatalogueColumn, physical = idColumn.physical): ViewColumn {
  const column = { ...idColumn, name: '', physical, type: 'text' } as const;
  return { column, source: idColumn, cases: [{ when: always, mask: { kind: 'hash', args: {} } }] };
}

/** Callers who may change but not read rows address them by known ids. */
function unreadKey(idColumn: CatalogueColumn): ViewColumn {
  return { column: { ...idColumn, name: '' }, source: idColumn, cases: [] };
}

export interface FittingPolicy {
  source: Source;
  actions: readonly string[];
  where: PlannedCondition;
  isVisible(column: string): boolean;
  masks: ReadonlyMap<string, Mask>;
  missing: readonly string[];
  emptyLists: readonly ('roles' | 'groups')[];
}

export function narrow(
  alternative: Alternative,
  policies: readonly FittingPolicy[],
  { columns }: Pick<TableCatalogue, 'columns'>,
): Alternative {
  const because = [...alternative.because];
  const applyPolicies = (...actions: RowAction[]) => {
    const those = policies.filter((policy) => actions.some((action) => policy.actions.includes(action)));
    for (const { source } of those) if (!because.includes(source)) because.push(source);
    return those;
  };
  const reads: Alternative['reads'] = {};
  for (const action of ['read', 'export'] as const) {
    const part = alternative.reads[action];
    if (part) reads[action] = narrowRead(part, applyPolicies('read', action), columns);
  }
  const changes: Alternative['changes'] = {};
  for (const action of ['insert', 'update', 'delete'] as const) {
    const part = alternative.changes[action];
    // Rows and columns that the policies hide cannot be changed either.
    if (part) changes[action] = narrowChange(part, applyPolicies('read', action), columns);
  }
  return { ...alternative, because, reads, changes };
}

function narrowRead(
  part: ReadPart,
  policies: readonly FittingPolicy[],
  columns: readonly CatalogueColumn[],
): ReadPart {
  if (policies.length === 0) return part;
  const where = allOf([part.where, ...policies.map((policy) => policy.where)]);
  const entries = columns.flatMap(({ name }) => {
    const column = part.columns ? part.columns.get(name) : { when: always, mask: null };
    if (!column || !policies.every((policy) => policy.isVisible(name))) return [];
    const mask = policies.reduce<Mask | null>(
      (strictest, policy) => stricter(strictest, policy.masks.get(name) ?? null),
      column.mask,
    );
    return [[name, { when: column.when, mask }] as const];
  });
  return {
    where,
    columns: new Map(entries),
    policies: [...(part.policies ?? []), ...policies],
    isEmptied: isAllowed(part) && isNever(where),
  };
}

function narrowChange(
  part: ChangePart,
  policies: readonly FittingPolicy[],
  columns: readonly CatalogueColumn[],
): ChangePart {
  if (policies.length === 0) return part;
  const where = allOf([part.where, ...policies.map((policy) => policy.where)]);
  const entries = columns.flatMap(({ name }) => {
    const isClear = policies.every((policy) => policy.isVisible(name) && !policy.masks.has(name));
    const when = part.writable ? part.writable.get(name) : always;
    return isClear && when ? [[name, when] as const] : [];
  });
  return { where, writable: new Map(entries), isEmptied: isAllowed(part) && isNever(where) };
}

/** A masked or hidden column can be changed only in rows where one of the alternatives shows it, whichever allows the change. */
export function limitUpdates(
  alternatives: readonly Alternative[],
  { columns }: Pick<TableCatalogue, 'columns'>,
): Alternative[] {
  const reads = alternatives.flatMap(({ reads: { read } }) => read ?? []);
  const clearRows = new Map(
    columns.flatMap(({ name }) => {
      const isLimited = reads.some(({ policies = [] }) =>
        policies.some((policy) => !policy.isVisible(name) || policy.masks.has(name)),
      );
      return isLimited ? [[name, rowsWhereClear(name, reads)] as const] : [];
    }),
  );
  if (clearRows.size === 0) return [...alternatives];
  return alternatives.map((alternative) => {
    const { update } = alternative.changes;
    if (!update) return alternative;
    const writable = columns.flatMap(({ name }) => {
      const when = update.writable ? update.writable.get(name) : always;
      return when ? [[name, allOf([when, clearRows.get(name) ?? always])] as const] : [];
    });
    const changes = { ...alternative.changes, update: { ...update, writable: new Map(writable) } };
    return { ...alternative, changes };
  });
}

function rowsWhereClear(name: string, reads: readonly ReadPart[]): PlannedCondition {
  return anyOf(
    reads.map(({ where, columns }) => {
      const part = columns ? columns.get(name) : { when: always, mask: null };
      return part && part.mask === null ? allOf([where, part.when]) : never;
    }),
  );
}
