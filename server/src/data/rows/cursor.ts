import { timingSafeEqual } from 'node:crypto';
import { declareKey, type LiveKey } from '../../core/keys.ts';
import { fail } from '../../core/problem.ts';
import type { AfterKey, ListPlan, PlannedSort } from './plan.ts';
import type { RowTable } from './row-table.ts';

export const cursorKey = declareKey({
  name: 'rows.cursor_key',
  protects: 'Cursors of row lists',
  acceptedSeconds: 24 * 3600,
});

export type Cursors = ReturnType<typeof createCursors>;

const signatureBytes = 16;
/** A longer key would make the URL too long: the next request reads it from the row instead. */
export const keyCharsMax = 512;
const readFromRow = 1;

export function createCursors(signing: LiveKey<string>) {
  const sign = (payload: string, key = signing.current()) =>
    new Bun.CryptoHasher('sha256', key).update(payload).digest().subarray(0, signatureBytes);
  return {
    write(plan: ListPlan, lastKeys: readonly (string | null)[]): string {
      const keys = lastKeys.map((value, at) =>
        value !== null && value.length > keyCharsMax && !isId(plan.table, plan.sort[at])
          ? readFromRow
          : value,
      );
      const payload = JSON.stringify([cursorScope(plan.table, plan.sort), ...keys]);
      return `${Buffer.from(payload).toString('base64url')}.${sign(payload).toString('base64url')}`;
    },
    /** In place of a number that would tell how much happens to rows that the caller does not see. */
    disguise: (text: string) => sign(text, `disguise ${signing.current()}`).toString('base64url'),
    read(table: RowTable, token: string, sort: readonly PlannedSort[]): readonly AfterKey[] {
      const [encoded = '', signature = '', ...rest] = token.split('.');
      const payload = Buffer.from(encoded, 'base64url').toString('utf8');
      const bytes = Buffer.from(signature, 'base64url');
      const isSigned = () => signing.accepted().some((key) => timingSafeEqual(bytes, sign(payload, key)));
      if (rest.length > 0 || bytes.length !== signatureBytes || !isSigned()) throw fail('invalid_cursor');
      const [scope, ...keys]: unknown[] = JSON.parse(payload);
      if (scope !== cursorScope(table, sort) || keys.length !== sort.length) throw fail('invalid_cursor');
      // The values need no check: they are signed, and come from a column of this type.
      const id = keys[sort.findIndex((key) => isId(table, key))];
      return keys.map((value) => {
        if (value === readFromRow && typeof id === 'string') return { rowId: id };
        return typeof value === 'string' ? value : null;
      });
    },
  };
}

const isId = (table: RowTable, key: PlannedSort | undefined) => key?.column === table.order;

/** Physical names: a cursor survives a rename, but not a new column under an old name, nor another type. */
function cursorScope(table: RowTable, sort: readonly PlannedSort[]): string {
  const keys = sort.map(
    ({ column, descending }) => `${descending ? '-' : ''}${column.physical}:${column.type}`,
  );
  return `${table.catalogue.id} ${keys.join(',')}`;
}
