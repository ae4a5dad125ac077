import { beforeEach, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { newRowsState } from '../../testing/fake-rows.ts';
import { useFakeServer } from '../../testing/fake-server.ts';
import { newFolder, runSvc, writeLogin } from '../../testing/run-svc.ts';

const server = useFakeServer();
server.oauth.tokens.add('good').add('access-1');

let config: string;
beforeEach(() => {
  server.rows = newRowsState();
  config = newFolder();
});

const svc = (args: string[], env: Record<string, string | undefined> = {}) =>
  runSvc(['rows', ...args, '--app', 'shop'], {
    env: { SVC_BASE_URL: server.url, SVC_TENANT: 'demo', SVC_CONFIG_DIR: config, ...env },
  });

const pat = { SVC_API_KEY: 'svcpat_good' };
const sent = () => server.seen.map(({ headers }) => [headers.get('x-api-key'), headers.get('authorization')]);

describe('the credential', () => {
  test('can be a token in SVC_API_KEY, with a tenant', async () => {
    expect((await svc(['list', 'pets'], pat)).exit).toBe(0);
    expect(sent()).toEqual([['svcpat_good', null]]);
    const nowhere = await svc(['list', 'pets'], { ...pat, SVC_TENANT: undefined });
    expect([nowhere.exit, nowhere.err.includes('--tenant'), server.seen.length]).toEqual([2, true, 1]);
  });

  test('in SVC_API_KEY overrides a stored login, whose active tenant is still used', async () => {
    await writeLogin(config, server.url);
    const tenant = { id: 'stored-tenant', slug: 'demo', base_url: server.url };
    const profiles = { default: { base_url: server.url, tenant } };
    await Bun.write(join(config, 'config.json'), JSON.stringify({ profiles }));
    expect((await svc(['list', 'pets'], { ...pat, SVC_TENANT: undefined })).exit).toBe(0);
    expect([sent(), server.seen[0]?.path]).toEqual([
      [['svcpat_good', null]],
      '/data/stored-tenant/shop/pets',
    ]);
  });

  test('in both SVC_API_KEY and SVC_TOKEN is rejected before any request', async () => {
    const ran = await svc(['list', 'pets'], { ...pat, SVC_TOKEN: 'good' });
    expect([ran.exit, server.seen]).toEqual([2, []]);
    expect(ran.err).toContain('SVC_TOKEN and SVC_API_KEY');
  });

  test('in SVC_API_KEY is ignored by other commands', async () => {
    const env = { SVC_BASE_URL: server.url, SVC_CONFIG_DIR: config, ...pat };
    expect((await runSvc(['whoami'], { env: { ...env, SVC_TOKEN: 'good' } })).exit).toBe(0);
    expect((await runSvc(['whoami'], { env })).exit).toBe(3);
    expect(sent()).toEqual([[null, 'Bearer good']]);
  });
});

test('filters are sent in the syntax of the API, groups as separate parameters', async () => {
  const filters = [
    '--filter',
    'a=gt.3 & <b>',
    '--filter',
    'or=(a.eq.1,b.is.null)',
    '--filter',
    'not.and=(c.eq.1,d.eq.2)',
  ];
  await svc(
    ['list', 'pets', ...filters, '--filter', 'order=eq.1', '--select', 'a,x:b', '--sort', '-a,b'],
    pat,
  );
  expect([...(server.seen[0]?.query ?? [])]).toEqual([
    ['filter', 'a=gt.3 & <b>'],
    ['or', '(a.eq.1,b.is.null)'],
    ['not.and', '(c.eq.1,d.eq.2)'],
    ['filter', 'order=eq.1'],
    ['select', 'a,x:b'],
    ['sort', '-a,b'],
  ]);
  expect((await svc(['list', 'pets', '--filter', 'nonsense'], pat)).exit).toBe(2);
});

describe('lists', () => {
  const ids = (count: number) => Array.from({ length: count }, (_, at) => ({ id: at }));

  test('read all pages with --all, and a number of rows with --limit, with the next cursor', async () => {
    server.rows.rows = ids(450);
    const all = JSON.parse((await svc(['list', 'pets', '--all', '--json'], pat)).out);
    expect([all.data.length, all.has_more, all.next_cursor, server.seen.length]).toEqual([
      450,
      false,
      null,
      3,
    ]);
    const some = JSON.parse((await svc(['list', 'pets', '--limit', '250', '--json'], pat)).out);
    expect([some.data.length, some.has_more, some.next_cursor]).toEqual([250, true, '250']);
    const rest = await svc(['list', 'pets', '--all', '--cursor', '250', '-o', 'jsonl'], pat);
    expect(
      rest.out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).id),
    ).toEqual(
      ids(450)
        .slice(250)
        .map(({ id }) => id),
    );
  });

  test('keep all digits in every format', async () => {
    const text =
      '{"data":[{"id":1,"j":{"n":12345678901234567890.10}}],"page":1,"per_page":50,"has_more":false,"next_cursor":null}';
    server.intercept = () => new Response(text);
    expect(JSON.stringify(JSON.parse((await svc(['list', 'pets', '--json'], pat)).out))).not.toContain('.10');
    for (const format of ['json', 'jsonl', 'yaml', 'table'])
      expect((await svc(['list', 'pets', '-o', format], pat)).out).toContain('12345678901234567890.10');
  });

  test('have the columns of all rows in a table', async () => {
    const { out } = await svc(['list', 'pets'], pat);
    expect(out.split('\n')[0]?.split(/ +/)).toEqual(['ID', 'NAME', 'AGE', 'NOTE']);
  });
});

test('the data of inserts and updates is sent unchanged', async () => {
  const data = '{"big": 12345678901234567890}';
  await svc(['insert', 'pets', '--data', data], pat);
  await svc(['update', 'pets', 'a/b', '--data', data, '--if-match', 'v1', '--execute'], pat);
  expect(server.seen.map(({ body }) => body)).toEqual([data, data]);
  const [preview, change] = server.seen;
  expect([preview?.query.get('dry_run'), preview?.headers.get('idempotency-key')]).toEqual(['true', null]);
  expect([change?.path, change?.headers.get('if-match')]).toEqual(['/data/demo/shop/pets/a%2Fb', '"v1"']);
  for (const wrong of ['[1]', '{', '1', '{"a":1}\n{"a":2}'])
    expect((await svc(['insert', 'pets', '--data', wrong], pat)).exit).toBe(2);
});

test('an id is always a row, whatever its text', async () => {
  await svc(['get', 'pets', '_count'], pat);
  await svc(['update', 'pets', '_count', '--data', '{"age":4}', '--execute'], pat);
  await svc(['delete', 'pets', '_count', '--execute'], pat);
  const path = '/data/demo/shop/pets/%5Fcount';
  expect(server.seen.map((seen) => [seen.method, seen.path])).toEqual([
    ['GET', path],
    ['PATCH', path],
    ['DELETE', path],
  ]);
  expect((await svc(['count', 'pets'], pat)).out).toBe('2\n');
});

test('an id that does not fit into a URL is rejected before any request', async () => {
  for (const id of ['.', '..']) {
    for (const args of [
      ['get', 'pets', id],
      ['delete', 'pets', id, '--execute'],
    ]) {
      const ran = await svc(args, pat);
      expect([ran.exit, ran.err.includes('URL')]).toEqual([2, true]);
    }
  }
  expect(server.seen).toEqual([]);
});

describe('an export', () => {
  const lines = '{"id":1,"n":12345678901234567890,"t":"a,\\"b\\"\\n"}\n{"id":2,"n":null,"t":""}\n';

  test('is the bytes of the server, a JSON array, or CSV', async () => {
    server.intercept = () => new Response(lines);
    expect((await svc(['export', 'pets'], pat)).out).toBe(lines);
    const array = (await svc(['export', 'pets', '--json'], pat)).out;
    expect([JSON.parse(array).length, array.includes('12345678901234567890')]).toEqual([2, true]);
    const csv = (await svc(['export', 'pets', '--format', 'csv'], pat)).out;
    expect(csv).toBe('id,n,t\r\n1,12345678901234567890,"a,""b""\n"\r\n2,,""\r\n');
    expect((await svc(['export', 'pets', '--format', 'csv', '--json'], pat)).exit).toBe(2);
  });

  test('that is truncated fails, and keeps the existing file', async () => {
    const path = join(config, 'pets.jsonl');
    await Bun.write(path, 'before');
    // An aborted response: its last chunk never comes.
    const head = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';
    const cutting = Bun.listen({
      hostname: '127.0.0.1',
      port: 0,
      socket: { data: (socket) => void socket.end(`${head}9\r\n{"id":1}\n\r\n`) },
    });
    const cut = { ...pat, SVC_BASE_URL: `http://127.0.0.1:${cutting.port}` };
    const toFile = await svc(['export', 'pets', '--to', path], cut);
    expect([toFile.exit, toFile.out, await Bun.file(path).text()]).toEqual([12, '', 'before']);
    expect((await svc(['export', 'pets'], cut)).exit).toBe(12);
    cutting.stop(true);
    server.intercept = () => new Response('{"id":1}\n{"id"');
    expect((await svc(['export', 'pets', '--to', path], pat)).exit).toBe(12);
    server.intercept = () => new Response(lines);
    expect((await svc(['export', 'pets', '--to', path], pat)).out).toBe(`2 rows written to ${path}.\n`);
    expect(await Bun.file(path).text()).toBe(lines);
  });
});
