import { expect } from 'bun:test';
import {
  type Answered,
  type App,
  bearer,
  type Call,
  caller,
  done,
  newApp,
  newTenant,
  type Person,
  type Tenant,
} from './people.ts';
import type { RunningServer } from './server.ts';

export const columnTypes = [
  ...(['text', 'int', 'bigint', 'float', 'bool', 'timestamptz', 'uuid', 'jsonb'] as const),
  ...(['date', 'decimal(12,2)', 'enum(open,in work,ä)', 'text[]', 'int[]'] as const),
];
export type ColumnType = (typeof columnTypes)[number];

/** An app for the tables of a test file; its owner is the tenant's member. */
export interface RowsWorld {
  tenant: Tenant;
  server: RunningServer;
  owner: Person;
  app: App;
  /** `/data/<tenant>/<app>` */
  data: string;
  /** `/api/v1/tenants/<tenant>/apps/<app>/tables` */
  tables: string;
  /** A table of the test's own, with calls on its rows as the owner. */
  table(columns: readonly unknown[], more?: object): Promise<TestTable>;
  /** Rows of a table with somebody else's credential. */
  as(credential: Record<string, string>, table: TestTable): Call;
  pat(person: Person, more?: object): Promise<string>;
}

export interface TestTable {
  id: string;
  name: string;
  /** `/data/<tenant>/<app>/<table>` */
  path: string;
  /** A call on the rows: the path is relative to the table's. */
  send: Call;
  /** A call on the table itself: the path is relative to the table's in the control plane. */
  shape: Call;
  /** Inserts rows one by one, which must succeed. */
  // biome-ignore lint/suspicious/noExplicitAny: rows are of every shape.
  insert(...rows: (object | string)[]): Promise<any[]>;
  /** Inserts rows as one batch, which must succeed. */
  batch(rows: readonly object[]): Promise<Answered>;
  // biome-ignore lint/suspicious/noExplicitAny: rows are of every shape.
  list(search?: string): Promise<any[]>;
}

let tableCount = 0;

export async function rowsWorld(on?: RunningServer): Promise<RowsWorld> {
  const tenant = await newTenant(on);
  const { server, member: owner } = tenant;
  const app = await newApp(tenant, { owner });
  const { data, tables } = rowPaths(tenant, app);
  return {
    tenant,
    server,
    owner,
    app,
    data,
    tables,
    as: (credential, table) => caller(server, credential, table.path),
    async pat(person, more = {}) {
      const body = { name: `rows ${Bun.randomUUIDv7()}`, actions: ['read', 'write'], ...more };
      return (await done(person.call('POST', `${tenant.base}/pats`, body))).secret;
    },
    async table(columns, more = {}) {
      const name = `t${++tableCount}`;
      const { id } = await done(owner.call('POST', tables, { name, columns, ...more }));
      const path = `${data}/${name}`;
      const send = caller(server, bearer(owner), path);
      return {
        id,
        name,
        path,
        send,
        shape: caller(server, bearer(owner), `${tables}/${name}`),
        async insert(...rows) {
          const inserted = [];
          for (const row of rows) inserted.push(await done(send('POST', '', row)));
          return inserted;
        },
        async batch(rows) {
          const answer = send('POST', '', lines(rows), ndjson);
          await done(answer);
          return answer;
        },
        list: async (search = '') => (await done(send('GET', search))).data,
      };
    },
  };
}

export const rowPaths = (
  { base, slug }: Pick<Tenant, 'base' | 'slug'>,
  app: Pick<App, 'id' | 'slug'>,
): Pick<RowsWorld, 'tables' | 'data'> => ({
  tables: `${base}/apps/${app.id}/tables`,
  data: `/data/${slug}/${app.slug}`,
});

export async function newTable(
  { owner, tables }: Pick<RowsWorld, 'owner' | 'tables'>,
  name: string,
  columns: readonly string[],
  more: Record<string, unknown> = {},
): Promise<void> {
  await done(owner.call('POST', tables, { name, columns, ...more }));
}

export const ndjson = { 'content-type': 'application/x-ndjson' };

/** Each row is an object, or its JSON. */
export const lines = (rows: readonly (string | object)[]) =>
  rows.map((row) => `${typeof row === 'string' ? row : JSON.stringify(row)}\n`).join('');

/** Inserts rows in batches of 5,000 and returns their ids. */
export async function insertLines(
  person: Pick<Person, 'call'>,
  path: string,
  rows: readonly (string | object)[],
): Promise<(string | number)[]> {
  const ids: (string | number)[] = [];
  for (let at = 0; at < rows.length; at += 5_000)
    ids.push(...(await done(person.call('POST', path, lines(rows.slice(at, at + 5_000)), ndjson))).ids);
  return ids;
}

/** Counts how often each key was added. */
export class Tally {
  readonly counts: Record<string, number> = {};
  add(key: string | number): void {
    this.counts[key] = this.count(key) + 1;
  }
  count(key: string | number): number {
    return this.counts[key] ?? 0;
  }
  /** The keys that were added and are not allowed. */
  except(...allowed: (string | number)[]): string[] {
    return Object.keys(this.counts).filter((key) => !allowed.map(String).includes(key));
  }
  toString(): string {
    const keys = Object.keys(this.counts).sort();
    return keys.map((key) => `${key}: ${this.count(key)}`).join(', ');
  }
}

/** Issues a grant on a table and returns its id. */
export async function grant(table: TestTable, type: string, id: string, actions: string[]): Promise<string> {
  const body = { principal_type: type, principal_id: id, actions };
  const issued = await table.shape('POST', '/grants', body);
  expect(issued.status).toBe(201);
  return issued.body.id;
}

/** A response without what differs between any two: request id and date. */
export const comparable = ({ status, body, headers }: Answered) => ({
  status,
  body: typeof body === 'string' ? body : { ...body, request_id: '' },
  headers: [...headers].filter(([name]) => !['x-request-id', 'date', 'ratelimit'].includes(name)),
});

export const countRows = async (table: TestTable) => (await table.send('GET', '/_count')).body.count;
