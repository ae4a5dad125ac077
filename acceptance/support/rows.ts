import { newTenant, type Person, type Tenant } from './people.ts';
import type { RunningServer } from './server.ts';
import { type App, newApp } from './world.ts';

/** An answer with its very text: reading it as JSON loses digits. */
export interface Sent {
  status: number;
  headers: Headers;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape.
  body: any;
}

export type Send = (
  method: string,
  path?: string,
  body?: string | Uint8Array<ArrayBuffer> | object,
  headers?: Record<string, string>,
) => Promise<Sent>;

/** Objects are sent as JSON, texts as they are. */
export function sender(server: RunningServer, credential: Record<string, string>, base = ''): Send {
  return async (method, path = '', body, headers = {}) => {
    const isText = typeof body === 'string' || body instanceof Uint8Array;
    const response = await fetch(server.baseUrl + base + path, {
      method,
      redirect: 'manual',
      headers: {
        ...credential,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: isText ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const type = response.headers.get('content-type') ?? '';
    const isJson = /^application\/(problem\+)?json/.test(type) && text !== '';
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: isJson ? JSON.parse(text) : text,
    };
  };
}

/** One app for the tables of a test file, with its owner. */
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
  as(credential: Record<string, string>, table: TestTable): Send;
  pat(person: Person, more?: object): Promise<string>;
}

export interface TestTable {
  id: string;
  name: string;
  /** `/data/<tenant>/<app>/<table>` */
  path: string;
  /** At a path behind the table's own. */
  send: Send;
  /** Of the control plane, at a path behind the table's. */
  shape(method: string, path?: string, body?: unknown): Promise<Sent>;
  /** Inserts rows one by one, which must succeed. */
  // biome-ignore lint/suspicious/noExplicitAny: rows are of every shape.
  insert(...rows: (object | string)[]): Promise<any[]>;
  /** Inserts them as one batch. */
  batch(rows: readonly object[]): Promise<Sent>;
  // biome-ignore lint/suspicious/noExplicitAny: rows are of every shape.
  list(search?: string): Promise<any[]>;
}

let made = 0;

export async function rowsWorld(on?: RunningServer): Promise<RowsWorld> {
  const tenant = await newTenant(on);
  const { server, member: owner } = tenant;
  const app = await newApp(tenant, { owner, coOwner: owner });
  const data = `/data/${tenant.slug}/${app.slug}`;
  const tables = `${tenant.base}/apps/${app.id}/tables`;
  const asOwner = { authorization: `Bearer ${owner.token}` };
  return {
    tenant,
    server,
    owner,
    app,
    data,
    tables,
    as: (credential, table) => sender(server, credential, table.path),
    async pat(person, more = {}) {
      const made = await person.call('POST', `${tenant.base}/pats`, {
        name: `rows ${Bun.randomUUIDv7()}`,
        actions: ['read', 'write'],
        ...more,
      });
      return succeeded(made).body.secret;
    },
    async table(columns, more = {}) {
      const name = `t${++made}`;
      const answer = succeeded(await owner.call('POST', tables, { name, columns, ...more }));
      const send = sender(server, asOwner, `${data}/${name}`);
      return {
        id: answer.body.id,
        name,
        path: `${data}/${name}`,
        send,
        shape: sender(server, asOwner, `${tables}/${name}`),
        async insert(...rows) {
          const inserted = [];
          for (const row of rows) inserted.push(succeeded(await send('POST', '', row)).body);
          return inserted;
        },
        batch: async (rows) => succeeded(await send('POST', '', lines(rows), ndjson)),
        list: async (search = '') => succeeded(await send('GET', search)).body.data,
      };
    },
  };
}

export const ndjson = { 'content-type': 'application/x-ndjson' };

export function lines(rows: readonly object[]): string {
  return rows.map((row) => `${JSON.stringify(row)}\n`).join('');
}

export function bearer({ token }: Pick<Person, 'token'>): Record<string, string> {
  return { authorization: `Bearer ${token}` };
}

function succeeded<T extends { status: number; body: unknown }>(answer: T): T {
  if (answer.status >= 300)
    throw new Error(`Preparing it answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  return answer;
}
