import { expect, test } from 'bun:test';
import { createClient } from './client.ts';
import { SvcNetworkError } from './errors.ts';
import { problem, scriptedServer } from './testing.ts';

const server = scriptedServer();
const options = { baseUrl: server.baseUrl, tenant: 'acme', app: 'todo', auth: { apiKey: 'k' } };
const pets = createClient(options).table<{ id: string; name: string; photo: unknown }>('pets');

const entry = { version: '7', action: 'update', at: '2026-01-31T00:00:00Z', by: null };
const versions = [{ ...entry, request_id: 'r-1', before: { name: 'Rex' }, row: { name: 'Ada' } }];

test('the history of a row and the trash are read page by page', async () => {
  server.answerWith(() => Response.json({ data: versions, page: 2, per_page: 1, has_more: true }));
  expect(await pets.history('a/b', { page: 2, perPage: 1 })).toEqual({
    data: [{ ...entry, requestId: 'r-1', before: { name: 'Rex' }, row: { name: 'Ada' } }],
    page: 2,
    perPage: 1,
    hasMore: true,
  } as never);
  await pets.trash();
  expect(server.seen.map(({ path, query }) => [path, query])).toEqual([
    [
      '/data/acme/todo/pets/a%2Fb/_history',
      [
        ['page', '2'],
        ['per_page', '1'],
      ],
    ],
    ['/data/acme/todo/pets/_trash', []],
  ]);
});

test('a row or a whole request is restored, or the plan is shown', async () => {
  server.answerWith(() => Response.json({ restored: 1, ids: ['7'] }));
  expect(await pets.restore('7')).toEqual({ restored: 1, ids: ['7'] });
  expect(await pets.restore({ requestId: 'r-1' })).toEqual({ restored: 1, ids: ['7'] });
  expect(server.seen.map(({ method, path, body }) => [method, path, body])).toEqual([
    ['POST', '/data/acme/todo/pets/7/_restore', '{}'],
    ['POST', '/data/acme/todo/pets/_restore', '{"request_id":"r-1"}'],
  ]);
  const plan = { operation: 'rows.restore' };
  server.answerWith(() => Response.json({ dry_run: true, plan }));
  expect(await pets.restore('7', { dryRun: true })).toMatchObject({ plan });
  expect(server.seen[0]!.query).toEqual([['dry_run', 'true']]);
});

test('a file is announced, uploaded without another credential, and downloaded from its row', async () => {
  const file = { id: 'f', name: 'rex.png', size: 3, type: 'image/png' };
  const signed = { file, put_url: `${server.baseUrl}/objects/t/n`, headers: { 'content-type': 'image/png' } };
  const put = () => new Response(null, { status: 201 });
  server.answerWith(() => Response.json(signed, { status: 201 }), put);
  expect(await pets.upload('photo', new File(['abc'], 'rex.png', { type: 'image/png' }))).toEqual(file);
  const [sign, sent] = server.seen;
  expect([sign!.path, JSON.parse(sign!.body)]).toEqual([
    '/data/acme/todo/pets/_files',
    { column: 'photo', name: 'rex.png', type: 'image/png', size: 3 },
  ]);
  expect([
    sent!.method,
    sent!.body,
    sent!.headers.get('content-type'),
    sent!.headers.get('x-api-key'),
  ]).toEqual(['PUT', 'abc', 'image/png', null]);
  server.answerWith(() => new Response('abc', { headers: { 'content-type': 'image/png' } }));
  const blob = await pets.download('1/2', 'photo');
  expect([await blob.text(), server.seen[0]!.path]).toEqual([
    'abc',
    '/data/acme/todo/pets/1%2F2/_files/photo',
  ]);
});

test('a refused upload is an error', async () => {
  const signed = { file: {}, put_url: `${server.baseUrl}/objects/t/n`, headers: {} };
  server.answerWith(
    () => Response.json(signed, { status: 201 }),
    () => new Response(null, { status: 403 }),
  );
  expect(await pets.upload('photo', new Blob(['abc'])).catch((error) => error)).toBeInstanceOf(
    SvcNetworkError,
  );
  server.answerWith(() => problem(415, 'unsupported_media_type'));
  expect(await pets.upload('photo', new Blob(['abc'])).catch((error) => error.code)).toBe(
    'unsupported_media_type',
  );
});
