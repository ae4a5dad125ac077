import { describe, expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { useFixture } from '../scripts/use-fixture.ts';
import { appToken } from './suites/connector-principals.ts';
import { isOnCitus } from './support/citus.ts';
import { svcFor } from './support/commands.ts';
import { bearer, type Call, caller, done } from './support/people.ts';
import { rowsWorld } from './support/rows.ts';
import { temporaryFolder } from './support/server.ts';

const bytes = Buffer.from('89504e470d0a1a0a00', 'hex');
const photo = { column: 'photo', name: 'käfer & co.png', type: 'image/png', size: bytes.length };

const world = useFixture(rowsWorld);

async function upload(
  send: Call,
  given: Record<string, unknown> = photo,
  body: Uint8Array<ArrayBuffer> = bytes,
) {
  const { file, put_url, headers } = await done(send('POST', '/_files', given));
  const put = await fetch(put_url, { method: 'PUT', headers, body });
  expect([put.status, await put.json()]).toEqual([201, { id: file.id, size: body.length, type: given.type }]);
  return file as { id: string; name: string; size: number; type: string };
}

const download = (send: Call, id: string, column = 'photo') => send('GET', `/${id}/_files/${column}`);

describe.skipIf(isOnCitus)('a file of a row', () => {
  const pets = useFixture(() =>
    world.table(['name:text', 'photo:file(max=1KB,types=image/*):nullable', 'papers:file:nullable']),
  );

  test('is uploaded by a signed URL, written into the row and downloaded from it', async () => {
    const file = await upload(pets.send);
    expect(file).toEqual({ id: expect.any(String), name: photo.name, size: bytes.length, type: 'image/png' });
    const [byId, whole] = await pets.insert(
      { name: 'by id', photo: file.id },
      { name: 'whole', photo: file },
    );
    expect([byId.photo, whole.photo]).toEqual([file, file]);
    const { status, headers } = await download(pets.send, byId.id);
    expect([status, headers.get('content-type'), headers.get('content-security-policy')]).toEqual([
      200,
      'image/png',
      "default-src 'none'; sandbox",
    ]);
    expect(headers.get('content-disposition')).toContain('k%C3%A4fer%20%26%20co.png');
    // The row is written back as it was read.
    const same = await done(pets.send('PATCH', `/${byId.id}`, { name: 'again', photo: byId.photo }));
    expect(same.photo).toEqual(file);
    expect(await pets.list(`?photo=is.not_null&id=${byId.id}&select=photo`)).toEqual([{ photo: file }]);
    const none = await done(pets.send('PATCH', `/${byId.id}`, { photo: null }));
    expect([none.photo, (await download(pets.send, byId.id)).status]).toEqual([null, 404]);
    expect((await download(pets.send, whole.id)).status).toBe(200);
    const many = await pets.batch([
      { name: 'a', photo: file },
      { name: 'b', photo: null },
    ]);
    expect(many.body.inserted).toBe(2);
  });

  test('is uploaded and downloaded by commands, after a plan', async () => {
    const { server, owner, tenant, app } = world;
    const svc = svcFor(server, { token: owner.token, tenant: tenant.slug });
    const [row] = await pets.insert({ name: 'by command' });
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'rex.png'), bytes);
    const words = [pets.name, row.id, 'photo', '--app', app.slug];
    const upload = ['rows', 'upload', ...words, '--from-file', join(folder, 'rex.png')];
    expect((await svc(upload)).code).toBe(0);
    expect((await pets.list(`?id=${row.id}`))[0].photo).toBeNull();
    const uploaded = await svc([...upload, '--execute', '--json']);
    expect([uploaded.code, JSON.parse(uploaded.stdout).photo]).toMatchObject([
      0,
      { name: 'rex.png', size: bytes.length, type: 'image/png' },
    ]);
    const to = join(folder, 'copy.png');
    expect((await svc(['rows', 'download', ...words, '--to', to])).code).toBe(0);
    expect(readFileSync(to)).toEqual(bytes);
    expect((await svc(['rows', 'download', pets.name, row.id, 'papers', '--app', app.slug])).code).toBe(5);
  });

  test('counts as an object of the storage of the app, within its limit', async () => {
    const { owner, tenant, app } = world;
    const storage = () => done(owner.call('GET', `${tenant.base}/apps/${app.id}/storage`));
    const before = await storage();
    expect(before.enabled).toBe(true);
    await upload(pets.send, { ...photo, column: 'papers', type: 'application/pdf' });
    expect(await storage()).toMatchObject({
      objects: before.objects + 1,
      bytes: before.bytes + bytes.length,
    });
    const large = { ...photo, column: 'papers', size: 60 * 1024 ** 3 };
    expect((await pets.send('POST', '/_files', large)).status).toBe(413);
  });

  test.each([
    [{ ...photo, size: 1025 }, 413, 'payload_too_large'],
    [{ ...photo, type: 'application/pdf' }, 415, 'unsupported_media_type'],
    [{ ...photo, type: 'nonsense' }, 400, 'validation_failed'],
    [{ ...photo, column: 'name' }, 400, 'validation_failed'],
    [{ ...photo, column: 'nothing' }, 400, 'unknown_column'],
    [{ ...photo, name: '../x' }, 400, 'validation_failed'],
    [{ ...photo, size: -1 }, 400, 'validation_failed'],
    [{ ...photo, size: undefined }, 400, 'validation_failed'],
  ])('is refused as %p with %i %s', async (given, status, code) => {
    const answer = await pets.send('POST', '/_files', given);
    expect([answer.status, answer.body.code]).toEqual([status, code]);
  });

  test('must have the announced size and type, and be uploaded for the column', async () => {
    const { file, put_url } = await done(pets.send('POST', '/_files', photo));
    const put = (body: string, type: string) =>
      fetch(put_url, { method: 'PUT', headers: { 'content-type': type }, body });
    expect((await put('short', 'image/png')).status).toBe(400);
    expect((await put('123456789', 'text/html')).status).toBe(415);
    const { id } = (await pets.insert({ name: 'x' }))[0];
    for (const value of [
      file.id,
      file,
      'x',
      {},
      7,
      { id: crypto.randomUUID() },
      (await upload(pets.send)).id,
    ])
      for (const body of [value === file.id || value === file ? { photo: value } : { papers: value }])
        expect([value, (await pets.send('PATCH', `/${id}`, body)).body.errors?.[0]?.code]).toEqual([
          value,
          'invalid_value',
        ]);
  });

  test('is for those who may read its row and column, and uploaded by those who may write the column', async () => {
    const [ada, ben] = [await world.visitor(), await world.visitor()];
    const columns = ['by:uuid', 'photo:file:nullable', 'secret:file:nullable'];
    const table = await world.table(columns, { owner_column: 'by' });
    const rules = { columns: { secret: { read: ['role:hr'], write: ['none'] } } };
    await done(table.shape('PUT', '/access', rules));
    const [asAda, asBen] = [ada.of(table), ben.of(table)];
    const file = await upload(asAda);
    const row = await done(asAda('POST', '', { photo: file.id }));
    const secret = await upload(table.send, { ...photo, column: 'secret' });
    await done(table.send('PATCH', `/${row.id}`, { secret: secret.id }));
    expect((await download(asAda, row.id)).status).toBe(200);
    expect((await download(asBen, row.id)).status).toBe(404);
    expect((await download(asAda, row.id, 'secret')).status).toBe(404);
    expect((await download(table.send, row.id, 'secret')).status).toBe(200);
    const refused = await asAda('POST', '/_files', { ...photo, column: 'secret' });
    expect([refused.status, refused.body.code]).toEqual([400, 'unknown_column']);
    expect((await world.tenant.outsider.call('POST', `${table.path}/_files`, photo)).status).toBe(404);
    await done(table.shape('PUT', '/access', { insert: ['none'], update: ['none'] }));
    expect((await asAda('POST', '/_files', photo)).status).toBe(403);
  });

  test('is no object of the storage that owners, the app and service accounts manage', async () => {
    const { server, owner, tenant, app } = world;
    const base = `${tenant.base}/apps/${app.id}`;
    const { id } = await upload(pets.send);
    const [row] = await pets.insert({ name: 'rex', photo: id });
    const key = `_rows/${pets.id}/3/${id}`;
    const before = await done(owner.call('GET', `${base}/storage`));
    const account = await done(
      owner.call('POST', `${base}/service-accounts`, { name: 'backup', actions: ['storage'] }),
    );
    const secret = await done(
      owner.call('POST', `${base}/service-accounts/${account.id}/tokens`, { name: 'night' }),
    );
    for (const token of [owner.token, await appToken(world, app), secret.secret]) {
      const send = caller(server, bearer({ token }), `${base}/storage`);
      const code = async (...call: Parameters<Call>) => {
        const { status, body } = await send(...call);
        return [status, body?.code];
      };
      const file = 'own.txt';
      const { put_url, headers } = await done(send('POST', '/upload-url', { key: file }));
      await fetch(put_url, { method: 'PUT', headers, body: 'own' });
      for (const query of ['', '?prefix=_rows/', `?prefix=_rows/${pets.id}`, '?prefix=_', '?delimiter=/']) {
        const { items, prefixes } = await done(send('GET', `/objects${query}`));
        const own = query.startsWith('?prefix') ? [] : [file];
        expect([query, items.map((item: { key: string }) => item.key), prefixes]).toEqual([query, own, []]);
      }
      expect(await code('GET', `/url?key=${key}`)).toEqual([404, 'not_found']);
      expect(await code('DELETE', `/objects?key=${key}`)).toEqual([404, 'not_found']);
      expect(await code('POST', '/copy', { from: key, to: 'copy' })).toEqual([404, 'not_found']);
      const refused = [400, 'validation_failed'];
      expect(await code('POST', '/copy', { from: file, to: key })).toEqual(refused);
      expect(await code('POST', '/upload-url', { key })).toEqual(refused);
      await done(send('DELETE', `/objects?key=${file}`));
    }
    expect(await done(owner.call('GET', `${base}/storage`))).toEqual(before);
    expect((await download(pets.send, row.id)).status).toBe(200);
  });

  test('has no default, no index and no groups; its limits can change', async () => {
    const table = await world.table(['photo:file(max=5mb)']);
    const { columns } = await done(table.shape('GET', ''));
    expect(columns[1]).toMatchObject({ name: 'photo', type: 'file(max=5MB)' });
    expect((await table.shape('POST', '/indexes', { columns: ['photo'] })).status).toBe(400);
    expect((await table.send('GET', '/_aggregate?select=photo')).status).toBe(400);
    const changed = await done(table.shape('PATCH', '/columns/photo', { type: 'file(types=image/*)' }));
    expect(changed.columns[1].type).toBe('file(types=image/*)');
    for (const type of ['file(max=6GB)', 'file(max=x)', 'file(types=image)', 'file(min=1)', 'file(a,b)'])
      expect([type, (await table.shape('POST', '/columns', `f:${type}:nullable`)).status]).toEqual([
        type,
        400,
      ]);
    const wrong = await table.shape('POST', '/columns', { name: 'f', type: 'file', default: 'x' });
    expect(wrong.status).toBe(400);
    expect((await table.shape('DELETE', '/columns/photo')).status).toBe(204);
  });
});
