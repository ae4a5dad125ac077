import { expect } from 'bun:test';
import { createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readConfig } from '../../server/src/config.ts';
import { openObjectStore } from '../../server/src/drivers/object-store/open-object-store.ts';
import { admin, run } from './commands.ts';
import { queryUrl } from './database.ts';
import { bearer, caller, done, newTenant } from './people.ts';
import { type RunningServer, root, temporaryFolder } from './server.ts';
import { askHost, newRelease, newSite, visitorCookie } from './sites.ts';
import { newStorageApp, put, signUpload } from './storage.ts';
import { until } from './until.ts';

const richSchema = readFileSync(join(root, 'server/src/admin/backup/raw/rich-schema.sql'), 'utf8');

const isAnswering = (url: string) =>
  queryUrl(url, 'select 1').then(
    () => true,
    () => false,
  );

/** A system with a site, objects of some MiB, and a raw database with a rich schema. */
export async function fillSystem(server: RunningServer) {
  const tenant = await newTenant(server);
  const site = await newSite(server, tenant);
  const page = randomBytes(300_000).toString('hex');
  await newRelease(site, { 'index.html': page }, { on_finalize: 'deploy' });
  const stored = await newStorageApp(server, tenant);
  const files = new Map<string, Uint8Array<ArrayBuffer>>();
  for (const [name, size] of [
    ['empty', 0],
    ['small.txt', 5],
    ['large.bin', 11 * 1024 * 1024],
    ['mid.bin', 2_000_000],
  ] as const)
    files.set(name, new Uint8Array(randomBytes(size)));
  for (const [name, bytes] of files)
    expect((await put(await signUpload(stored, name), bytes)).status).toBe(201);
  const line = ['apps', 'raw-db', 'enable', '--app', stored.app.slug, '--execute', '--json'];
  const enabled = await stored.svc(line);
  const { connection_string: url } = enabled.json<{ connection_string: string }>();
  await until('the raw database is ready', () => isAnswering(url));
  for (const part of richSchema.split('-- next transaction')) await queryUrl(url, part);
  return { tenant, site, page, stored, files, url };
}

export type Filled = Awaited<ReturnType<typeof fillSystem>>;

export const svcAdmin = (env: Record<string, string | undefined>, ...args: string[]) =>
  run([join(root, 'svc-admin'), ...args, '--json'], { env });

/** Of every object in the store: key and SHA-256. */
export async function objectsOf(env: Record<string, string>): Promise<Record<string, string>> {
  const store = openObjectStore(readConfig(env));
  const found: Record<string, string> = {};
  for await (const { key } of store.list('')) {
    const sum = createHash('sha256');
    for await (const chunk of (await store.get(key))?.body ?? []) sum.update(chunk);
    found[key] = sum.digest('hex');
  }
  return found;
}

/** All rows of all tables, the definitions of views, indexes, functions and constraints, and what a function computes. */
export async function contentOf(url: string): Promise<Record<string, unknown>> {
  const [tables] = await queryUrl(
    url,
    `select jsonb_object_agg(c.oid::regclass::text, (xpath('/row/c/text()', query_to_xml(
       format('select md5(coalesce(string_agg(t::text, %L order by t::text), %L)) as c from only %s t', ',', '', c.oid::regclass), false, true, '')))[1]::text) as rows
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind in ('r', 'm') and n.nspname !~ '^pg_|^information' and c.relispopulated`,
  );
  const definitions = await queryUrl(
    url,
    `select pg_get_viewdef(oid) as sql from pg_class where relkind in ('v', 'm') and oid >= 16384
     union all select pg_get_indexdef(indexrelid) from pg_index where indexrelid >= 16384 and indrelid not in (select reltoastrelid from pg_class)
       and indrelid::regclass::text !~ '^pg_toast'
     union all select pg_get_functiondef(oid) from pg_proc where oid >= 16384 and prokind in ('f', 'p')
     union all select conname || conrelid::regclass::text || pg_get_constraintdef(oid) from pg_constraint where conrelid >= 16384
     union all select pg_get_triggerdef(oid) from pg_trigger where not tgisinternal order by 1`,
  );
  const [values] = await queryUrl(
    url,
    `select (select count(*)::int from orders_of(10)) as orders, (select last_value::text from order_numbers) as number,
       md5(lo_get(4242)) as large, (select sum::text from counts_of_counts) as counted, current_setting('work_mem') as memory`,
  );
  return { ...tables, definitions, ...values };
}

/** The site opens, every object is served byte by byte, and the raw database answers at its new address. */
export async function expectSame(
  server: RunningServer,
  { tenant, site, page, stored, files, url }: Filled,
  before: object,
) {
  const here = { ...site, server, tenant: { ...tenant, server } };
  const owner = { ...site.owner, call: caller(server, bearer(site.owner)) };
  const cookie = await visitorCookie(here, owner);
  const opened = await askHost(server, `${site.host}:${server.port}`, '/', { headers: { cookie } });
  expect([opened.status, opened.text === page]).toEqual([200, true]);
  for (const [name, bytes] of files) {
    const { url: link } = await done(owner.call('GET', `${stored.base}/url?key=${name}`));
    const read = Buffer.from(await (await fetch(link)).arrayBuffer());
    expect([name, read.equals(bytes)]).toEqual([name, true]);
  }
  const rawDb = await done(owner.call('GET', `${stored.base.replace(/storage$/, 'raw-db')}`));
  const restored = Object.assign(new URL(url), { port: String(rawDb.port), hostname: rawDb.host });
  await until('the raw database accepts its password', () => isAnswering(restored.href));
  expect(await contentOf(restored.href)).toMatchObject(before);
  await queryUrl(restored.href, `insert into "Odd ""schema"."People" ("E-Mail") values ('new@example.test')`);
  expect((await admin<{ ok: boolean }>(server, ['doctor'])).ok).toBeTrue();
  return restored.href;
}

export const backupFile = (name: string) => join(temporaryFolder(), name);
