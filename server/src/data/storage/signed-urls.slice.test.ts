import { expect, test } from 'bun:test';
import { sql } from 'kysely';
import { removeCoOwner } from '../../apps/record/people.ts';
import { fixedKey } from '../../core/keys.ts';
import { appTag } from '../../core/tags.ts';
import { msUntilRefused } from '../../identity/provider/testing.ts';
import { suspendUser } from '../../people/users/users.ts';
import { testMutation } from '../../testing.ts';
import { codeOf, resign, useStorage } from './testing.ts';

const { database, server, newStorageApp, upload, blobs, openUploads } = useStorage();

test('a signed URL works only for its purpose, until it expires, and in one spelling', async () => {
  const { put, urlOf, sign, keys } = await newStorageApp();
  await put('k', 'old');
  const [get, write] = [await urlOf('k'), await sign({ key: 'k' })];
  expect(await codeOf(upload(get, 'new'))).toBe('forbidden');
  expect(await codeOf(server.use(write))).toBe('forbidden');
  expect(await codeOf(server.use(write, { method: 'DELETE' }))).toBe('method_not_allowed');
  expect(await codeOf(server.use(resign(get, () => ({}), fixedKey('another key'))))).toBe('forbidden');
  const [body = '', signature = ''] = get.split('/').at(-2)!.split('.');
  for (const token of [
    `${body.slice(0, -1)}A.${signature}`,
    `${body}.${signature.slice(0, -1)}`,
    `${body}`,
    `.${signature}`,
    `${body}.${signature}.x`,
    `${body}.${signature}=`,
    `${body}=.${signature}`,
    '',
  ]) {
    const forged = get.replace(`${body}.${signature}`, token);
    expect([token, await codeOf(server.use(forged))]).toEqual([token, 'forbidden']);
  }
  expect(await codeOf(server.use(`${get}/more`))).toBe('forbidden');
  expect(await codeOf(server.use(resign(get, () => ({ purpose: 'icon' }))))).toBe('forbidden');
  // Signed by an earlier version, which gave owners the files of rows.
  for (const [url, use] of [
    [get, server.use],
    [write, (old: string) => upload(old, 'new')],
  ] as const)
    expect(await codeOf(use(resign(url, () => ({ key: '_rows/t/1/f' }))))).toBe('forbidden');
  server.clock.fixed = new Date(Date.now() + 301_000);
  try {
    expect(await codeOf(server.use(get))).toBe('url_expired');
    expect(await codeOf(upload(write, 'new'))).toBe('200');
    server.clock.fixed = new Date(Date.now() + 601_000);
    expect(await codeOf(upload(write, 'newer'))).toBe('url_expired');
  } finally {
    server.clock.fixed = null;
  }
  expect(await keys()).toEqual(['k']);
});

test('a signed URL stops working within a second after its issuer loses access', async () => {
  const ends: [string, (it: Awaited<ReturnType<typeof newStorageApp>>) => Promise<unknown>][] = [
    [
      'co-ownership',
      ({ tenant, owner, app, coOwner }) =>
        testMutation(database.db, owner, (ctx) => removeCoOwner(ctx, { user: coOwner.userId }), {
          context: { tenant, app },
        }),
    ],
    [
      'suspension',
      ({ tenant, admin, coOwner }) =>
        testMutation(database.db, admin, (ctx) => suspendUser(ctx, { userId: coOwner.userId }), {
          context: { tenant },
        }),
    ],
    [
      'the app',
      async ({ app, owner }) => {
        await sql`update svc.apps set record = 'deleted' where id = ${app.id}`.execute(database.db);
        await testMutation(database.db, owner, async (ctx) => ctx.invalidate(appTag(app.id)));
      },
    ],
  ];
  for (const [what, end] of ends) {
    const it = await newStorageApp();
    await it.put('k', 'text');
    const [get, write] = [await it.urlOf('k', 'coOwner'), await it.sign({ key: 'new' }, 'coOwner')];
    expect([what, await codeOf(server.use(get))]).toEqual([what, '200']);
    await end(it);
    const works = async () => (await codeOf(server.use(get))) === '200';
    expect([what, (await msUntilRefused([works])) < 1_000]).toEqual([what, true]);
    expect([what, await codeOf(upload(write, 'x'))]).toEqual([what, 'forbidden']);
    expect([what, await openUploads(it.ref)]).toEqual([what, 0]);
  }
});

test('an upload fails if its issuer loses access while it runs', async () => {
  const it = await newStorageApp();
  const url = await it.sign({ key: 'late' }, 'coOwner');
  const secondHalf = Promise.withResolvers<void>();
  const body = new ReadableStream({
    async start(controller) {
      controller.enqueue(new Uint8Array(1000));
      await secondHalf.promise;
      controller.enqueue(new Uint8Array(1000));
      controller.close();
    },
  });
  const answer = codeOf(upload(url, body));
  while ((await openUploads(it.ref)) === 0) await new Promise(setImmediate);
  const { tenant, owner, app, coOwner } = it;
  await testMutation(database.db, owner, (ctx) => removeCoOwner(ctx, { user: coOwner.userId }), {
    context: { tenant, app },
  });
  secondHalf.resolve();
  expect(['forbidden', 'not_found']).toContain(await answer);
  expect([await it.keys(), await blobs(it.ref), await openUploads(it.ref)]).toEqual([[], [], 0]);
});
