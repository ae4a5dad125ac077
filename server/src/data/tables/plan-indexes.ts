import { isDeepEqual } from '../../core/values.ts';
import { defaultIndexName, indexRecord } from './rules.ts';
import type { DeclaredIndex, NamedIndex, SchemaStep } from './schema-steps.ts';
import type { TableRow } from './store.ts';

type Keys = Pick<DeclaredIndex, 'columns' | 'unique' | 'search'>;

/** Each reference has one index by itself, which a file need not name. */
export function withoutReferenceIndexes<Index extends Keys>(
  indexes: readonly Index[],
  references: readonly string[],
): Index[] {
  const own = references.map((name) =>
    indexes.find(
      ({ columns, unique, search }) => !unique && !search && columns.length === 1 && columns[0] === name,
    ),
  );
  return indexes.filter((index) => !own.includes(index));
}

export function storedIndexes(row: Pick<TableRow, 'columns' | 'indexes'>): NamedIndex[] {
  return row.indexes.map((index) => {
    const { name, columns, unique, search, language } = indexRecord(row, index);
    return search
      ? { name, columns: [], unique, search, ...(language && { language }) }
      : { name, columns, unique };
  });
}

export interface IndexesToPlan {
  stored: readonly NamedIndex[];
  declared: readonly DeclaredIndex[];
  /** Columns that refer to a table afterwards. */
  references: readonly string[];
  /** Those of them that get their index by an earlier step, in the order of the steps. */
  linked: readonly string[];
  /** Columns that get another type after the other steps. */
  converted: readonly string[];
}

export function planIndexes(table: string, plan: IndexesToPlan): SchemaStep[] {
  const left = [...plan.stored];
  for (const column of plan.linked) {
    const names = left.map(({ name }) => name);
    left.push({ name: defaultIndexName([column], 'plain', names), columns: [column], unique: false });
  }
  const take = (isWanted: (index: NamedIndex) => boolean) => {
    const at = left.findIndex(isWanted);
    return at < 0 ? undefined : left.splice(at, 1)[0];
  };
  const late = ({ columns, search = {} }: DeclaredIndex) =>
    [...columns, ...Object.keys(search)].some((name) => plan.converted.includes(name)) && { isLate: true };
  // By name first: an index without a name must not take one that another names.
  const named = plan.declared.filter((index) => index.name !== undefined);
  const unnamed = plan.declared.filter((index) => index.name === undefined);
  const steps = [...named, ...unnamed].flatMap((index): SchemaStep[] => {
    const { name, search } = index;
    const found =
      (name === undefined ? take((each) => isSame(each, index)) : take((each) => each.name === name)) ??
      // A table has one.
      (search && take((each) => each.search !== undefined));
    if (!found) return [{ kind: 'add_index', table, index, ...late(index) }];
    const after = { ...index, name: name ?? found.name };
    if (found.name === after.name && isSame(found, index)) return [];
    return [{ kind: 'replace_index', table, before: found, after, ...late(index) }];
  });
  const dropped = withoutReferenceIndexes(left, plan.references);
  return [...steps, ...dropped.map((index): SchemaStep => ({ kind: 'drop_index', table, index }))];
}

function isSame(a: DeclaredIndex, b: DeclaredIndex): boolean {
  if (!a.search || !b.search)
    return !a.search && !b.search && a.unique === b.unique && isDeepEqual(a.columns, b.columns);
  return isDeepEqual(a.search, b.search) && (a.language ?? 'simple') === (b.language ?? 'simple');
}
