import { describe, expect, test } from 'bun:test';
import { largestMysqlValue } from './mysql-values.ts';

/** Types of columns in the protocol: https://dev.mysql.com/doc/dev/mysql-server/latest/field__types_8h.html */
const [int, bigint, timestamp, text] = [3, 8, 7, 252];

/** A length before the value: one byte, or a marker and two, three or eight bytes. */
function counted(length: number): Buffer {
  if (length < 251) return Buffer.from([length]);
  const size = length < 2 ** 16 ? 2 : length < 2 ** 24 ? 3 : 8;
  const bytes = Buffer.alloc(1 + size);
  bytes[0] = size === 2 ? 0xfc : size === 3 ? 0xfd : 0xfe;
  bytes.writeUIntLE(length, 1, Math.min(size, 6));
  return bytes;
}

describe('the largest value of a row that is too large', () => {
  const large = 200 * 1024 * 1024;

  test('in a row of texts', () => {
    const values = [
      counted(2),
      Buffer.from('12'),
      Buffer.from([0xfb]),
      counted(70_000),
      Buffer.alloc(70_000),
    ];
    const row = Buffer.concat([...values, counted(large), Buffer.alloc(1_000)]);
    expect(largestMysqlValue(row, [int, text, text, text, text], false)).toEqual({ at: 3, bytes: large });
  });

  test('in a row of a prepared statement, with nulls and values of fixed lengths', () => {
    const types = [int, text, bigint, timestamp, text, text];
    // The second column is null: bits begin with the third.
    const head = [
      Buffer.from([0, 0b0000_1000]),
      Buffer.alloc(4),
      Buffer.alloc(8),
      Buffer.from([4, 1, 2, 3, 4]),
    ];
    const row = Buffer.concat([
      ...head,
      counted(300),
      Buffer.alloc(300),
      counted(large),
      Buffer.alloc(1_000),
    ]);
    expect(largestMysqlValue(row, types, true)).toEqual({ at: 5, bytes: large });
    expect(largestMysqlValue(row.subarray(0, 400), types, true)).toEqual({ at: 5, bytes: large });
    expect(largestMysqlValue(row.subarray(0, 20), types, true)).toEqual({ at: 2, bytes: 8 });
  });
});
