import { expect, test } from 'bun:test';
import type { ColumnType } from '@svc/contract/columns.ts';
import { type DescribedColumn, type DescribedTable, tableTypes } from './table-types.ts';

const column = (name: string, type: ColumnType, more: Partial<DescribedColumn> = {}): DescribedColumn => ({
  name,
  type,
  nullable: false,
  default: null,
  generated: false,
  ...more,
});

const todos: DescribedTable = {
  name: 'todos',
  description: 'What is */ to be\ndone',
  owner_column: 'owner',
  columns: [
    column('id', 'uuid', { generated: true }),
    column('owner', 'uuid'),
    column('title', 'text'),
    column('done', 'bool', { default: 'false' }),
    column('rank', 'bigint', { nullable: true }),
    column('due', 'timestamptz', { nullable: true }),
    column('more', 'jsonb', { nullable: true }),
    column('created_at', 'timestamptz', { generated: true }),
    column('updated_at', 'timestamptz', { generated: true }),
  ],
};
const plain: DescribedTable = {
  name: 'plain',
  description: '',
  owner_column: null,
  columns: [column('id', 'text'), column('created_at', 'timestamptz'), column('n', 'float')],
};

test('each table has types for reading, inserting and updating rows', () => {
  expect(tableTypes('shop', [todos, plain])).toBe(`// The tables of shop, as \`svc tables types\` prints them.

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json | undefined };

export type Database = {
  plain: {
    Row: {
      id: string;
      created_at: string;
      n: number;
    };
    Insert: {
      id: string;
      created_at: string | Date;
      n: number;
    };
    Update: {
      created_at?: string | Date;
      n?: number;
    };
    Relations: Record<never, never>;
  };
  /** What is * / to be done */
  todos: {
    Row: {
      id: string;
      owner: string;
      title: string;
      done: boolean;
      rank: number | string | null;
      due: string | null;
      more: Json;
      created_at: string;
      updated_at: string;
    };
    Insert: {
      id?: string;
      owner?: string;
      title: string;
      done?: boolean;
      rank?: number | string | bigint | null;
      due?: string | Date | null;
      more?: Json;
    };
    Update: {
      title?: string;
      done?: boolean;
      rank?: number | string | bigint | null;
      due?: string | Date | null;
      more?: Json;
    };
    Relations: Record<never, never>;
  };
};
`);
});

test('an app without tables has types too', () => {
  expect(tableTypes('shop', [])).toContain('export type Database = {\n};\n');
});

test('decimals are texts, enums unions, lists arrays; an autonumber is never sent', () => {
  const orders: DescribedTable = {
    name: 'orders',
    description: '',
    owner_column: null,
    columns: [
      column('no', 'autonumber', { generated: true }),
      column('amount', 'decimal(12,2)'),
      column('state', 'enum(open,in work)', { nullable: true }),
      column('tags', 'text[]'),
    ],
  };
  const types = tableTypes('shop', [orders]);
  expect(types).toContain(`    Row: {
      no: number;
      amount: string;
      state: "open" | "in work" | null;
      tags: string[];
    };
    Insert: {
      amount: string | number | bigint;
      state?: "open" | "in work" | null;
      tags: readonly string[];
    };`);
});
