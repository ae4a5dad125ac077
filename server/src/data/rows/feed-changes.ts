import { changesRetentionHours } from '@svc/contract/rows.ts';
import { escapeIdentifier as ident } from 'pg';
import { decrypt, encrypt } from '../../core/cipher.ts';
import type { LiveKey } from '../../core/keys.ts';
import { sha256 } from '../../core/values.ts';
import { physicalLogName } from '../tables/catalogue.ts';
import { bindAs, type Values, valuesFor } from './condition-sql.ts';
import type { ListPlan } from './plan.ts';
import { columnRef, type Output, type RowTable } from './row-table.ts';
import { fromClause, readFrom, type Statement } from './sql.ts';

/**
 * How far a feed has been read: all changes that the snapshot `from` contains, and of those that `to` contains as well, those up to
 * `seq`. Changes in the order of their numbers alone could be missed: one with a lower number may be committed later.
 */
export interface FeedPosition {
  from: string;
  to: string | null;
  seq: string | null;
  takenAt: number;
}

export type FeedPositions = ReturnType<typeof createFeedPositions>;

/** Encrypted: numbers of changes and transactions would tell how much happens to rows that the caller does not see. */
export function createFeedPositions(key: LiveKey<string>) {
  const bytesOf = (value: string) => Buffer.from(sha256(`changes ${value}`), 'hex');
  let [derived, derivedFrom] = [bytesOf(key.current()), key.current()];
  return {
    /** `boundTo` describes what the caller sees and asked for. */
    write({ from, to, seq, takenAt }: FeedPosition, boundTo: string): string {
      if (key.current() !== derivedFrom) [derived, derivedFrom] = [bytesOf(key.current()), key.current()];
      const text = [takenAt.toString(36), from, ...(to === null ? [] : [to, seq ?? ''])].join(' ');
      return encrypt(derived, { text, boundTo }).toString('base64url');
    },
    /** Null if the position is too old, or the caller sees or asks for something else by now. */
    read(id: string, boundTo: string, now: number): FeedPosition | null {
      const bytes = Buffer.from(id, 'base64url');
      for (const value of key.accepted()) {
        try {
          const [takenAt = '', from = '', to = null, seq] = decrypt(bytesOf(value), { bytes, boundTo }).split(
            ' ',
          );
          const position = { from, to, seq: seq || null, takenAt: Number.parseInt(takenAt, 36) };
          return now - position.takenAt <= changesRetentionHours * 3600 ? position : null;
        } catch {}
      }
      return null;
    },
  };
}

/** Compares snapshots `xmin:xmax:running,…` of one database: the later one contains the other. */
export function isLater(one: string, other: string): boolean {
  const [a, b] = [extent(one), extent(other)];
  return a.end === b.end ? a.running < b.running : a.end > b.end;
}

function extent(snapshot: string): { end: bigint; running: number } {
  const [, end = '0', running = ''] = snapshot.split(':');
  return { end: BigInt(end), running: running === '' ? 0 : running.split(',').length };
}

export const logFrom = ({ catalogue: { schema, id } }: Pick<RowTable, 'catalogue'>) =>
  `${ident(schema)}.${ident(physicalLogName(id))}`;

export const snapshotSql = `select pg_current_snapshot()::text, extract(epoch from now())::int8::text`;

export function newChangesSql(log: string, since: string): Statement {
  return {
    text:
      `${snapshotSql}, exists (select from ${log} where xid >= pg_snapshot_xmin($1::pg_snapshot)` +
      ` and not pg_visible_in_snapshot(xid, $1::pg_snapshot))::text`,
    values: [since],
  };
}

/** Each page looks at all changes between the snapshots again, since an index of the numbers would cost every writer. */
export const changesPerPage = 5_000;
export const changesBytesMax = 4 * 1024 * 1024;

type ChangesPlan = Pick<ListPlan, 'table' | 'where'> & { output: Output };

/**
 * The changes between two snapshots in the order of their numbers, each filtered like a table row, before and after.
 * Returns the columns of the row after the change, then: number, bytes so far, whether the caller saw the row before and after,
 * the id before, and whether anything that they see has changed.
 */
export function changesSql(plan: ChangesPlan, { from, to, seq }: FeedPosition): Statement {
  const values = valuesFor(plan.table);
  const [since, until] = [bindAs(values, from, 'pg_snapshot'), bindAs(values, to, 'pg_snapshot')];
  const after = seq === null ? '' : ` and seq > ${bindAs(values, seq, 'int8')}`;
  const page =
    `select seq, old, new, sum(coalesce(pg_column_size(new), 0)) over (order by seq) as bytes from (` +
    `select seq, old, new from ${logFrom(plan.table)} where xid >= pg_snapshot_xmin(${since}) and xid < pg_snapshot_xmax(${until})${after}` +
    ` and not pg_visible_in_snapshot(xid, ${since}) and pg_visible_in_snapshot(xid, ${until})` +
    ` order by seq limit ${changesPerPage}) l`;
  const names = plan.output.columns.map((_, at) => `x${at}`);
  const list = (row: string) => names.map((name) => `${row}.${name}`).join(', ');
  const items = [
    ...names.map((name) => `n.${name}`),
    'l.seq::text',
    'l.bytes::text',
    '(o.seen is not null)::text',
    '(n.seen is not null)::text',
    'o.id::text',
    `(row(${list('o')}) is distinct from row(${list('n')}))::text`,
  ];
  const text =
    `select ${items.join(', ')} from (${page}) l` +
    ` left join lateral (${visibleChangeSql(plan, 'old', values)}) o on true` +
    ` left join lateral (${visibleChangeSql(plan, 'new', values)}) n on true` +
    ` where l.bytes - coalesce(pg_column_size(l.new), 0) <= ${changesBytesMax} order by l.seq`;
  return { text, values };
}

export const changesRestCount = 6;

/** Logs that were made before others have values of type jsonb. */
export const loggedRow = ({ from }: Pick<RowTable, 'from'>, value: string) =>
  `json_populate_record(null::${from}, ${value}::json)`;

/** The logged row as a row of the table, as far as the caller sees it and it matches. */
export function visibleChangeSql(
  { table, where, output }: ChangesPlan,
  column: 'old' | 'new',
  values: Values,
): string {
  const source = readFrom({ ...table, from: loggedRow(table, `l.${column}`) }, where, values);
  const items = output.columns.map(({ column }, at) => `${columnRef(column)} as x${at}`);
  const all = [...items, `${columnRef(table.key)} as id`, 'true as seen'];
  const conditions = [`l.${column} is not null`, ...source.conditions];
  return `select ${all.join(', ')} from ${fromClause({ ...source, conditions })}`;
}
