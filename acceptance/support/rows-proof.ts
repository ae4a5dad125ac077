import pg from 'pg';
import { databaseUrlOf } from './database.ts';
import { type Answered, newPerson, newTenant, type Person, type Tenant } from './people.ts';
import { type RunningServer, startServer } from './server.ts';
import { type App, newApp } from './world.ts';

/** `SVC_TEST_SCALE=full` runs the promised numbers; what `npm test` runs is short enough to be run each time. */
export const isFullScale = process.env.SVC_TEST_SCALE === 'full';

export function scaled(few: number, full: number): number {
  return isFullScale ? full : few;
}

export const columnTypes = [
  'text',
  'int',
  'bigint',
  'float',
  'bool',
  'timestamptz',
  'uuid',
  'jsonb',
] as const;
export type ColumnType = (typeof columnTypes)[number];

/** A tenant with an app in it, whose owner is the tenant's member. */
export interface Ground {
  tenant: Tenant;
  server: RunningServer;
  owner: Person;
  app: App;
  /** `/api/v1/tenants/<id>/apps/<id>/tables` */
  tables: string;
  /** `/data/<tenant>/<app>` */
  data: string;
}

export async function newGround(on?: RunningServer): Promise<Ground> {
  const tenant = await newTenant(on);
  const owner = tenant.member;
  const app = await newApp(tenant, { owner, coOwner: owner });
  return { tenant, server: tenant.server, owner, app, ...placesOf(tenant, app) };
}

export function placesOf(tenant: Tenant, app: App): Pick<Ground, 'tables' | 'data'> {
  return { tables: `${tenant.base}/apps/${app.id}/tables`, data: `/data/${tenant.slug}/${app.slug}` };
}

/** On the embedded database, whose inside the test looks at, also when the rest of the suite runs on another. */
export function startEmbedded(options: Parameters<typeof startServer>[0] = {}): Promise<RunningServer> {
  return startServer({ ...options, env: { SVC_DATABASE_URL: '', SVC_LOG_LEVEL: 'warn', ...options.env } });
}

/** Two servers on one database, of which each hears what the other does only through that. */
export async function startTwo(): Promise<[RunningServer, RunningServer]> {
  // It lends its PostgreSQL: to both, one of an operator's own.
  const host = await startEmbedded({ env: { SVC_SEED: 'none' } });
  const name = `two_${Bun.randomUUIDv7().slice(-12)}`;
  const client = new pg.Client({ connectionString: databaseUrlOf(host) });
  await client.connect();
  await client.query(`create database ${name}`);
  await client.end();
  const url = Object.assign(new URL(databaseUrlOf(host)), { pathname: `/${name}` }).href;
  const start = () =>
    startServer({ env: { SVC_DATABASE_URL: url, SVC_SEED: 'none', SVC_LOG_LEVEL: 'warn' } });
  return Promise.all([start(), start()]);
}

export async function newTable(
  ground: Pick<Ground, 'owner' | 'tables'>,
  name: string,
  columns: readonly string[],
  more: Record<string, unknown> = {},
): Promise<void> {
  await done(ground.owner.call('POST', ground.tables, { name, columns, ...more }));
}

/** The answer's body; anything but a success is thrown. */
export async function done(answer: Promise<Answered>): Promise<Answered['body']> {
  const { status, body } = await answer;
  if (status >= 300) throw new Error(`It answered ${status}: ${JSON.stringify(body)}`);
  return body;
}

export const jsonLines = { 'content-type': 'application/x-ndjson' };

/** Each row is an object, or its JSON. */
export async function insertLines(
  person: Pick<Person, 'call'>,
  path: string,
  rows: readonly (string | object)[],
): Promise<(string | number)[]> {
  const ids: (string | number)[] = [];
  for (let at = 0; at < rows.length; at += 5_000) {
    const lines = rows
      .slice(at, at + 5_000)
      .map((row) => (typeof row === 'string' ? row : JSON.stringify(row)));
    ids.push(...(await done(person.call('POST', path, lines.join('\n'), jsonLines))).ids);
  }
  return ids;
}

export const bearer = (person: Pick<Person, 'token'>) => ({ authorization: `Bearer ${person.token}` });

export function newMember(tenant: Tenant): Promise<Person> {
  return newPerson(tenant.server, { tenant: tenant.id, role: 'tenant_member' });
}

/** So many at a time, each as soon as there is room for it. */
export async function inFlight(count: number, atOnce: number, work: (at: number) => Promise<void>) {
  let next = 0;
  const worker = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, count) }, worker));
}

/** How often each thing came. */
export class Tally {
  readonly counts: Record<string, number> = {};
  add(key: string | number): void {
    this.counts[key] = (this.counts[key] ?? 0) + 1;
  }
  count(key: string | number): number {
    return this.counts[key] ?? 0;
  }
  /** Those that came and are not allowed to. */
  except(...allowed: (string | number)[]): string[] {
    return Object.keys(this.counts).filter((key) => !allowed.map(String).includes(key));
  }
  toString(): string {
    return Object.entries(this.counts)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, count]) => `${key}: ${count}`)
      .join(', ');
  }
}
