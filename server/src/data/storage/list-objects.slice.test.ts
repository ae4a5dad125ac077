import { expect, test } from 'bun:test';
import { objectKey } from '@svc/contract/storage.shapes.ts';
import { rowFilesPrefix } from '@svc/contract/storage.ts';
import fc from 'fast-check';
import { sql } from 'kysely';
import { newApp } from '../../apps/record/testing.ts';
import type { AppCtx } from '../../core/context.ts';
import { codeOf, newTenant, silentLog, testMutation, useTestDatabase } from '../../testing.ts';
import { listObjects } from './objects.ts';
import { enableStorageForApp } from './storage.ts';

const database = useTestDatabase();

async function newStorageApp() {
  const { tenant, member } = await newTenant(database.db);
  const app = await newApp(database.db, tenant, member);
  await testMutation(database.db, member, (ctx) => enableStorageForApp(ctx, app), { context: { tenant } });
  const base = { db: database.db, now: new Date(), requestId: 'test', log: silentLog };
  const ctx: AppCtx = { ...base, caller: member, tenant, app };
  const put = async (keys: readonly string[]) => {
    await sql`insert into svc.storage_objects
        (app_id, key, tenant_id, blob_id, size, content_type, sha256, created_by, created_at, updated_at)
      select ${app.id}, key, ${tenant.id}, gen_random_uuid(), 1, 'text/plain', '', ${member.userId}, now(), now()
      from unnest(${[...keys]}::text[]) key`.execute(database.db);
  };
  return { ctx, put, app };
}

type Query = { prefix?: string; delimiter?: string; limit?: number; cursor?: string };
const list = (ctx: AppCtx, query: Query) => listObjects(ctx, { prefix: '', limit: 100, ...query });

async function everyPage(ctx: AppCtx, query: Query, between: () => Promise<void> = async () => {}) {
  const items: string[] = [];
  const prefixes: string[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await list(ctx, { ...query, cursor });
    expect(page.items.length + page.prefixes.length).toBeLessThanOrEqual(query.limit ?? 100);
    items.push(...page.items.map(({ key }) => key));
    prefixes.push(...page.prefixes);
    if (page.next_cursor === null) return { items, prefixes };
    cursor = page.next_cursor;
    await between();
  }
}

/** The specification of a listing. */
function model(keys: readonly string[], prefix: string, delimiter: string) {
  const found = keys.filter((key) => key.startsWith(prefix) && !key.startsWith(rowFilesPrefix)).sort(byBytes);
  const groupOf = (key: string) => {
    const at = delimiter === '' ? -1 : key.indexOf(delimiter, prefix.length);
    return at < 0 ? null : key.slice(0, at + delimiter.length);
  };
  const groups = found.map(groupOf).filter((group) => group !== null);
  return { items: found.filter((key) => groupOf(key) === null), prefixes: [...new Set(groups)] };
}
const byBytes = (one: string, other: string) => Buffer.compare(Buffer.from(one), Buffer.from(other));

test('paged listings by prefix and delimiter match the model', async () => {
  // Few characters, so that keys share beginnings; of one, two, three and four bytes.
  const part = fc.string({
    unit: fc.constantFrom('a', 'b', '-', '_', '%', 'é', '￿', '🙂'),
    minLength: 1,
    maxLength: 3,
  });
  const key = fc
    .array(fc.oneof({ weight: 5, arbitrary: part }, fc.constantFrom('_rows', '_row', '_rows0')), {
      minLength: 1,
      maxLength: 4,
    })
    .map((parts) => parts.join('/'));
  const delimiter = fc.constantFrom('', '/', '-', 'a', '/a', '🙂');
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(key, { maxLength: 25 }),
      fc.oneof(key, fc.constantFrom('', 'a', 'a/', 'é', '_', '_rows', '_rows/')),
      delimiter,
      fc.integer({ min: 1, max: 7 }),
      async (keys, prefix, delimiter, limit) => {
        const { ctx, put } = await newStorageApp();
        await put(keys);
        const expected = model(keys, prefix, delimiter);
        const query = { prefix, limit, delimiter: delimiter || undefined };
        expect(await everyPage(ctx, query)).toEqual(expected);
      },
    ),
    { numRuns: 60 },
  );
});

test('a cursor stays valid while objects are added and deleted between pages', async () => {
  const { ctx, put, app } = await newStorageApp();
  const keys = Array.from({ length: 40 }, (_, at) => `k/${String(at).padStart(3, '0')}`);
  await put(keys);
  let round = 0;
  const seen = await everyPage(ctx, { prefix: 'k/', limit: 7 }, async () => {
    round += 1;
    await put([`k/000-${round}`, `k/999-${round}`]);
    // The last object of the page.
    const last = keys[round * 7 - 1]!;
    await sql`delete from svc.storage_objects where app_id = ${app.id} and key = ${last}`.execute(
      database.db,
    );
  });
  expect(seen.items.filter((key) => keys.includes(key))).toEqual(keys);
  expect(new Set(seen.items).size).toBe(seen.items.length);
});

test('listing a group takes the same time whatever its size', async () => {
  const { ctx, put } = await newStorageApp();
  for (let from = 1; from <= 100_000; from += 20_000) {
    await put(Array.from({ length: 20_000 }, (_, at) => `big/${from + at}`));
  }
  await put(['a', 'small/1', 'z']);
  await sql`analyze svc.storage_objects`.execute(database.db);
  const times: number[] = [];
  for (let run = 0; run < 5; run++) {
    const begun = performance.now();
    const page = await list(ctx, { delimiter: '/' });
    times.push(performance.now() - begun);
    expect(page.items.map(({ key }) => key)).toEqual(['a', 'z']);
    expect(page.prefixes).toEqual(['big/', 'small/']);
  }
  // Reading all objects takes more than 100 ms.
  expect(Math.min(...times)).toBeLessThan(50);
});

test('a cursor of another listing or a forged one is refused', async () => {
  const { ctx, put } = await newStorageApp();
  await put(['a/1', 'a/2', 'b/1', 'b/2']);
  const { next_cursor } = await list(ctx, { prefix: 'a', limit: 1 });
  const cursor = next_cursor!;
  expect(await codeOf(list(ctx, { prefix: 'a', cursor }))).toBe('done');
  expect(await codeOf(list(ctx, { prefix: 'b', cursor }))).toBe('invalid_cursor');
  expect(await codeOf(list(ctx, { prefix: 'a', delimiter: '/', cursor }))).toBe('invalid_cursor');
  const coded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  for (const made of [
    'x',
    '',
    coded({}),
    coded(['a', '', 1]),
    coded(['a', '', '\u0000']),
    coded(['a', '', '\ud800']),
  ])
    expect([made, await codeOf(list(ctx, { prefix: 'a', cursor: made }))]).toEqual([made, 'invalid_cursor']);
});

test('keys have no control characters, no empty or dot segments and at most 1024 bytes', () => {
  const good = ['a', 'a/b', '.hidden', 'a..b', '...', ' ', 'é', '🙂/\\', 'x'.repeat(1024), 'é'.repeat(512)];
  const bad = ['', '/', '/a', 'a/', 'a//b', '.', '..', 'a/./b', 'a/../b', '../a', 'a\n', '\u0000'].concat([
    '\u007f',
    '\u0085',
    '\ud800',
    '\u{10ffff}',
    'x'.repeat(1025),
    'é'.repeat(513),
  ]);
  for (const key of good) expect([key, objectKey.safeParse(key).success]).toEqual([key, true]);
  for (const key of bad) expect([key, objectKey.safeParse(key).success]).toEqual([key, false]);
});
