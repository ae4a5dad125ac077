import { expect } from 'bun:test';
import { setApp } from './database.ts';
import {
  type Answered,
  type App,
  bearer,
  caller,
  done,
  newApp,
  newMember,
  newTenant,
  type Person,
  type Tenant,
  tokenThrough,
} from './people.ts';
import type { RunningServer } from './server.ts';

export const columnTypes = [
  ...(['text', 'int', 'bigint', 'float', 'bool', 'timestamptz', 'uuid', 'jsonb'] as const),
  ...(['date', 'decimal(12,2)', 'enum(open,in work,ä)', 'text[]', 'int[]'] as const),
];
export type ColumnType = (typeof columnTypes)[number];

export type RowsWorld = Awaited<ReturnType<typeof rowsWorld>>;
export type Visitor = Awaited<ReturnType<RowsWorld['visitor']>>;
export type TestTable = Awaited<ReturnType<RowsWorld['table']>>;

let tableCount = 0;

/** An app for the tables of a test file; its owner is the tenant's member. */
export async function rowsWorld(on?: RunningServer) {
  const tenant = await newTenant(on);
  const { server, member: owner } = tenant;
  const app = await newApp(tenant, { owner });
  const { data, tables } = rowPaths(tenant, app);
  const through = (person: Pick<Person, 'email'>) =>
    tokenThrough(server, person, `${tenant.slug}/${app.slug}`);
  return {
    tenant,
    server,
    owner,
    app,
    data,
    tables,
    /** Rows of a table with somebody else's credential. */
    as: (credential: Record<string, string>, { path }: { path: string }) => caller(server, credential, path),
    async pat(person: Person, more: object = {}): Promise<string> {
      const body = { name: `rows ${Bun.randomUUIDv7()}`, actions: ['read', 'write'], ...more };
      return (await done(person.call('POST', `${tenant.base}/pats`, body))).secret;
    },
    /** The token of a sign-in through the app. */
    through,
    /** A new member of the tenant who uses the app, which becomes one for invited people. */
    async visitor(role?: string) {
      const person = await newMember(tenant);
      await setApp(server, app.id, { visibility: 'invite_only' });
      await done(owner.call('POST', `${app.base}/members`, { user_id: person.id }));
      if (role) await done(owner.call('POST', `${app.base}/roles`, { role, user: person.id }));
      const token = await through(person);
      return {
        ...person,
        through: token,
        of: (table: { path: string }) => caller(server, bearer({ token }), table.path),
      };
    },
    /** A table of the test's own, with calls on its rows as the owner. */
    async table(columns: readonly unknown[], more: object = {}) {
      const name = `t${++tableCount}`;
      const { id } = await done(owner.call('POST', tables, { name, columns, ...more }));
      const path = `${data}/${name}`;
      const send = caller(server, bearer(owner), path);
      return {
        id: id as string,
        name,
        path,
        /** A call on the rows: the path is relative to the table's. */
        send,
        /** A call on the table itself in the control plane. */
        shape: caller(server, bearer(owner), `${tables}/${name}`),
        /** Inserts rows one by one, which must succeed. */
        async insert(...rows: (object | string)[]) {
          const inserted: Answered['body'][] = [];
          for (const row of rows) inserted.push(await done(send('POST', '', row)));
          return inserted;
        },
        /** Inserts rows as one batch, which must succeed. */
        async batch(rows: readonly object[]) {
          const answer = send('POST', '', lines(rows), ndjson);
          await done(answer);
          return answer;
        },
        list: async (search = ''): Promise<Answered['body'][]> => (await done(send('GET', search))).data,
      };
    },
  };
}

export const rowPaths = ({ base, slug }: Pick<Tenant, 'base' | 'slug'>, app: Pick<App, 'id' | 'slug'>) => ({
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
