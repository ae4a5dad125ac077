import { checkNames, checkText } from '@svc/contract/column-checks.ts';
import { enumValues } from '@svc/contract/column-families.ts';
import { isStoredAlike } from '@svc/contract/type-changes.ts';
import { sql } from 'kysely';
import type { MutationCtx } from '../../core/context.ts';
import { sqlState } from '../../core/db.ts';
import { fail } from '../../core/problem.ts';
import { physicalCheckName } from './catalogue.ts';
import {
  type Conversion,
  copyTableSql,
  countBreakingSql,
  type PhysicalCheck,
  physicalChecks,
  replaceChecksSql,
  type Statement,
  setNullableSql,
  swapTableSql,
} from './ddl.ts';
import { resetTimeouts, run, withTableLock } from './lock-table.ts';
import { indexKind, planIndex } from './rules.ts';
import type { ColumnRow, TableRow } from './store.ts';

/** PostgreSQL counts dropped columns for the life of a table: copy it. Readers wait only while the copy takes its place. */
export async function rebuildTable(
  ctx: MutationCtx,
  row: TableRow,
  { converted, beforeSwap }: { converted?: Conversion; beforeSwap?: () => Promise<void> } = {},
): Promise<void> {
  const id = row.columns.find((column) => column.role === 'id');
  const indexes = row.indexes.map((index) => {
    const columns = index.columns.flatMap(
      (number) => row.columns.find((column) => column.number === number) ?? [],
    );
    const plan = id && planIndex(columns, indexKind(index), id);
    if (typeof plan === 'string' && converted)
      throw fail('column_in_use', { detail: `With the new type the index ${index.name} ${plan}.` });
    if (!plan || typeof plan === 'string') throw new Error(`Index ${index.id} cannot be rebuilt.`);
    return { id: index.id, plan };
  });
  const copy = copyTableSql(row, indexes, { role: ctx.rows.role, converted });
  await withTableLock(ctx, { table: row, block: 'writers' }, copy).catch((cause: unknown) => {
    if (!converted || !isConversionError(sqlState(cause))) throw cause;
    const { name, type } = converted.column;
    const detail = `${row.name}.${name} has a value that cannot become ${type}.`;
    throw fail('type_change_refused', { detail }, { cause });
  });
  await beforeSwap?.();
  await alterTable(ctx, row, swapTableSql(row));
}

/** Data exceptions of PostgreSQL, and values that are equal after the conversion but must be unique. */
const isConversionError = (state: string | null) =>
  state?.startsWith('22') === true || state === '23505' || state === '42846' || state === '54000';

export async function alterTable(ctx: MutationCtx, table: TableRow, statements: readonly Statement[]) {
  try {
    await withTableLock(ctx, { table, block: 'everyone' }, statements);
  } catch (cause) {
    throw sqlState(cause) === '23502' ? fail('not_null_violation', {}, { cause }) : cause;
  }
}

export const isRebuiltFor = (before: ColumnRow, after: ColumnRow) => !isStoredAlike(before.type, after.type);

/** Changes the physical column; what is in the catalogue only is not its concern. `row` has the column as it was. */
export async function alterColumn(ctx: MutationCtx, row: TableRow, before: ColumnRow, after: ColumnRow) {
  if (isRebuiltFor(before, after)) {
    const unchecked = row.columns.map((column) =>
      column === before ? { ...after, nullable: before.nullable, checks: null } : column,
    );
    const added = physicalChecks(after);
    await rebuildTable(
      ctx,
      { ...row, columns: unchecked },
      {
        converted: { from: before.type, column: after },
        beforeSwap: () => requireMet(ctx, row, after, 'copy', added),
      },
    );
    if (added.length > 0) await alterTable(ctx, row, replaceChecksSql(row, after));
  } else {
    await replaceChecks(ctx, row, before, after);
  }
  if (after.nullable !== before.nullable) await alterTable(ctx, row, setNullableSql(row, after));
}

async function replaceChecks(ctx: MutationCtx, row: TableRow, before: ColumnRow, after: ColumnRow) {
  const [old, next] = [physicalChecks(before), physicalChecks(after)];
  const isKnown = ({ name, condition }: PhysicalCheck, among: readonly PhysicalCheck[]) =>
    among.some((each) => each.name === name && each.condition === condition);
  const added = next.filter((check) => !isKnown(check, old));
  if (added.length === 0 && old.every((check) => isKnown(check, next))) return;
  if (added.length > 0) {
    await withTableLock(ctx, { table: row, block: 'writers' }, []);
    await requireMet(ctx, row, after, 'table', added);
  }
  await alterTable(ctx, row, replaceChecksSql(row, after));
}

const countMsMax = 20_000;

async function requireMet(
  ctx: MutationCtx,
  row: TableRow,
  column: ColumnRow,
  source: 'table' | 'copy',
  checks: readonly PhysicalCheck[],
): Promise<void> {
  if (checks.length === 0) return;
  const tx = await ctx.rows.tx();
  await run(tx, `set local statement_timeout = ${countMsMax}`);
  const { rows } = await sql
    .raw<{ breaking: number[] }>(countBreakingSql(row, source, checks))
    .execute(tx)
    .catch((cause: unknown) => {
      throw sqlState(cause) === '57014' ? fail('table_busy', {}, { cause }) : cause;
    });
  await resetTimeouts(tx);
  const broken = checks.flatMap(({ name }, at) => {
    const count = rows[0]?.breaking[at] ?? 0;
    return count > 0 ? [{ count, detail: requirement(column, name) }] : [];
  });
  const [first] = broken;
  if (!first) return;
  const countText = `${first.count} ${first.count === 1 ? 'row has a value' : 'rows have values'}`;
  throw fail('check_violation', {
    detail: `${countText} of ${column.name} that the change does not allow: each ${first.detail}.`,
    errors: broken.map(({ count, detail }) => ({
      column: column.name,
      code: 'check_violation',
      detail: `${count} rows break it: ${detail}`,
    })),
  });
}

function requirement({ number, type, checks }: ColumnRow, physical: string): string {
  const check = checkNames.find((each) => physicalCheckName(number, each) === physical);
  return check ? checkText(type, checks ?? {}, check) : `must be one of ${enumValues(type)?.join(', ')}`;
}
