import { timingSafeEqual } from 'node:crypto';
import { fail } from '../plumbing/problem.ts';
import type { AfterKey, ListPlan, PlannedSort } from './plan.ts';
import type { RowTable } from './row-table.ts';

/**
 * Where a page ended: the keys of its last row, signed, so that it can not be made up, and bound to the table and the
 * sort it was made for. It holds nothing but values that the caller has just been sent or sorts by.
 */
export interface Cursors {
  write(plan: ListPlan, lastKeys: readonly (string | null)[]): string;
  read(table: RowTable, token: string, sort: readonly PlannedSort[]): readonly AfterKey[];
}

const signatureBytes = 16;
/** A longer key would not fit into an address: it is looked up in its row instead. */
const keyCharsMax = 512;
const lookedUp = 1;

export function createCursors(key: string): Cursors {
  const sign = (payload: string) =>
    new Bun.CryptoHasher('sha256', key).update(payload).digest().subarray(0, signatureBytes);
  return {
    write(plan, lastKeys) {
      const keys = lastKeys.map((value, at) =>
        value !== null && value.length > keyCharsMax && !isId(plan.table, plan.sort[at]) ? lookedUp : value,
      );
      const payload = JSON.stringify([boundTo(plan.table, plan.sort), ...keys]);
      return `${Buffer.from(payload).toString('base64url')}.${sign(payload).toString('base64url')}`;
    },
    read(table, token, sort) {
      const [encoded = '', signature = '', ...rest] = token.split('.');
      const payload = Buffer.from(encoded, 'base64url').toString('utf8');
      const given = Buffer.from(signature, 'base64url');
      if (rest.length > 0 || given.length !== signatureBytes || !timingSafeEqual(given, sign(payload))) {
        throw fail('invalid_cursor');
      }
      const [bound, ...keys]: unknown[] = JSON.parse(payload);
      if (bound !== boundTo(table, sort) || keys.length !== sort.length) throw fail('invalid_cursor');
      // Signed, and bound to columns that keep their type for good: the texts are the database's own.
      const id = keys[sort.findIndex((key) => isId(table, key))];
      return keys.map((value) => {
        if (value === lookedUp && typeof id === 'string') return { ofRow: id };
        return typeof value === 'string' ? value : null;
      });
    },
  };
}

const isId = (table: RowTable, key: PlannedSort | undefined) => key?.column === table.catalogue.idColumn;

/** By physical names: a rename keeps a cursor good, a column dropped and made again does not. */
function boundTo(table: RowTable, sort: readonly PlannedSort[]): string {
  const keys = sort.map(({ column, descending }) => `${descending ? '-' : ''}${column.physical}`);
  return `${table.catalogue.id} ${keys.join(',')}`;
}
