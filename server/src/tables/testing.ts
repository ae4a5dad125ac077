import { sql } from 'kysely';
import pg from 'pg';
import { findApp } from '../apps/find-app.ts';
import { newApp } from '../apps/testing.ts';
import { createApi } from '../plumbing/api.ts';
import type { AppAccess, Caller, TenantAccess } from '../plumbing/context.ts';
import { failureOfDatabase } from '../plumbing/database-errors.ts';
import { rowsOnly } from '../plumbing/outbox-rows.ts';
import { Failure, problemResponse } from '../plumbing/problem.ts';
import { newTenant, silentLog, type TestDatabase } from '../testing.ts';
import { columnOf, schemaOf, tableOf, versionColumn } from './catalogue.ts';
import { tableRoutes } from './routes.ts';

export interface Answer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of all shapes.
  body: any;
}

export interface TableWorld {
  tenant: TenantAccess;
  admin: Caller;
  member: Caller;
  owner: Caller;
  app: AppAccess;
  /** As the owner, at a path below the app's tables. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  as(caller: Caller, app?: AppAccess): TableWorld['call'];
  /** Makes a table, which must succeed. */
  table(name: string, columns?: unknown[], more?: object): Promise<{ id: string; version: number }>;
}

/** An app of the test's own, and calls of its tables' endpoints as the HTTP layer makes them. */
export async function tableWorld(database: TestDatabase, rows = database.rows): Promise<TableWorld> {
  const { db } = database;
  const { tenant, admin, member } = await newTenant(db);
  const owner = member;
  const app = await newApp(db, tenant, owner);
  const as = (caller: Caller, of = app) => {
    const role: TenantAccess['role'] = caller === admin ? 'tenant_admin' : 'tenant_member';
    const api = createApi(
      {
        db,
        outbox: rowsOnly,
        now: () => new Date(),
        authenticate: async () => caller,
        tenantAccess: async () => ({ ...tenant, role }),
        appAccess: (access, ref) => findApp(db, access, { ref, caller }),
        rows,
        checkAnswers: true,
      },
      tableRoutes,
    );
    return async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
      const request = new Request(
        `http://svc.example.test/api/v1/tenants/${tenant.slug}/apps/${of.slug}/tables${path}`,
        {
          method,
          headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        },
      );
      const response = await api(request, new URL(request.url), {
        requestId: 'test',
        log: silentLog,
        setRoute: () => {},
        clientAddress: '127.0.0.1',
        deadline: new AbortController().signal,
      }).catch((error: unknown) => {
        const failure = error instanceof Failure ? error : failureOfDatabase(error);
        if (failure) return problemResponse(failure, 'test');
        throw error;
      });
      const text = await response.text();
      return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
    };
  };
  const call = as(owner);
  const table: TableWorld['table'] = async (name, columns = [], more = {}) => {
    const { status, body } = await call('POST', '', { name, columns, ...more });
    if (status !== 201) throw new Error(`${name} answered ${status}: ${JSON.stringify(body)}`);
    return body;
  };
  return { tenant, admin, member, owner, app, call, as, table };
}

/** The table itself, as PostgreSQL names it. */
export function physicalName(app: Pick<AppAccess, 'id'>, table: { id: string }): string {
  return `${pg.escapeIdentifier(schemaOf(app.id))}.${pg.escapeIdentifier(tableOf(table.id))}`;
}

/** A row straight into the table, by the numbers of its columns; `1` is the id where none was declared. */
export async function insertRow(
  { db }: Pick<TestDatabase, 'db'>,
  world: Pick<TableWorld, 'app'>,
  table: { id: string },
  values: Readonly<Record<number, unknown>>,
): Promise<void> {
  const names = [versionColumn, ...Object.keys(values).map((number) => columnOf(Number(number)))];
  const place = sql.raw(physicalName(world.app, table));
  await sql`insert into ${place} (${sql.raw(names.join(', '))})
    values (1, ${sql.join(Object.values(values))})`.execute(db);
}

/** What PostgreSQL has of an app: each table with the number of its columns, dropped ones too, and each index. */
export async function physicalState(
  { db }: Pick<TestDatabase, 'db'>,
  app: Pick<AppAccess, 'id'>,
): Promise<{ columns: Record<string, number>; indexes: string[] }> {
  const { rows } = await sql<{ name: string; kind: string; columns: number }>`
    select relname as name, relkind as kind, relnatts::int as columns from pg_class
    where relnamespace = to_regnamespace(${schemaOf(app.id)}) and relkind in ('r', 'i') order by relname`.execute(
    db,
  );
  return {
    columns: Object.fromEntries(rows.flatMap((row) => (row.kind === 'r' ? [[row.name, row.columns]] : []))),
    indexes: rows.flatMap((row) => (row.kind === 'i' ? [row.name] : [])),
  };
}
