import { describe, expect, test } from 'bun:test';
import { useFakeServer } from '../../testing/fake-server.ts';
import { newFolder } from '../../testing/run-svc.ts';

const server = useFakeServer();
/** The server's answers about the app, beside the defaults. */
interface Answers {
  app?: Record<string, unknown>;
  git?: unknown;
  site?: unknown;
  domains?: unknown;
}

function answerWith({ app, git, site, domains }: Answers): void {
  const shop = {
    slug: 'shop',
    record: 'active',
    deployment_status: 'deployed',
    relation: 'owner',
    url: null,
  };
  server.intercept = (_, { path }) => {
    if (path.endsWith('/git')) return Response.json(git);
    if (path.endsWith('/static/site')) return Response.json(site);
    if (path.endsWith('/domains')) return Response.json(domains);
    if (path.endsWith('/apps/shop')) return Response.json({ ...shop, ...app });
    return path.endsWith('/tenants/demo')
      ? Response.json({ slug: 'demo', role: 'tenant_member' })
      : undefined;
  };
}

const svc = (line: string, cwd = newFolder()) =>
  server.svc(['open', ...line.split(' ').filter(Boolean)], { cwd });

async function path(line: string): Promise<string> {
  const ran = await svc(line);
  expect([line, ran.exit, ran.err.includes('Error')]).toEqual([line, 0, false]);
  return ran.out.trimEnd().replace(server.url, '');
}

describe('svc open', () => {
  test.each([
    ['console', '/'],
    ['--app shop --logs', '/t/demo/apps/shop/logs'],
    ['shop --metrics', '/t/demo/apps/shop/metrics'],
    ['app shop --logs', '/t/demo/apps/shop/logs'],
    ['overview --app shop', '/t/demo/apps/shop/overview'],
    ['deployments --app shop', '/t/demo/apps/shop/deployments'],
    ['run 42 --app shop', '/t/demo/apps/shop/runs/42'],
    ['deployment 42 --app shop', '/t/demo/apps/shop/deployments/42'],
    ['tables --app shop', '/t/demo/apps/shop/tables'],
    ['tables pets --app shop', '/t/demo/apps/shop/tables/pets'],
    ["table '../../x?y#z --app shop", "/t/demo/apps/shop/tables/'..%2F..%2Fx%3Fy%23z"],
    ['release 7 --app shop', '/t/demo/apps/shop/releases/7'],
    ['shop tables', '/t/demo/apps/shop/tables'],
    ['shop tables pets', '/t/demo/apps/shop/tables/pets'],
    ['shop logs', '/t/demo/apps/shop/logs'],
    ['app shop deployment 42', '/t/demo/apps/shop/deployments/42'],
    ['people --app shop', '/t/demo/apps/shop/people'],
    ['environment --app shop', '/t/demo/apps/shop/environment'],
    ['settings --app shop', '/t/demo/apps/shop/settings'],
    ['reviews', '/t/demo/reviews'],
    ['review', '/t/demo/reviews'],
    ['review 0198', '/t/demo/reviews/0198'],
    ['catalogue', '/t/demo/catalogue'],
    ['tokens', '/t/demo/tokens'],
    ['grants', '/t/demo/grants'],
    ['notifications', '/t/demo/notifications'],
    ['members', '/t/demo/admin/members'],
    ['policies', '/t/demo/admin/policies'],
    ['audit', '/t/demo/admin/audit'],
    ['tenant', '/t/demo/admin/settings'],
  ])('%s opens %s', async (line, expected) => {
    answerWith({});
    expect(await path(line)).toBe(expected);
  });

  test('opens the URL of an app, and the console if it has none', async () => {
    const url = 'http://shop.apps.example.test/';
    answerWith({ app: { url } });
    for (const line of ['shop', 'app shop', '--app shop']) expect(await path(line)).toBe(url);
    const [own, console] = ['https://shop.example.test/', '/t/demo/apps/shop/overview'];
    for (const state of [{ deployment_status: 'draft' }, { record: 'archived' }, { record: 'deleted' }]) {
      answerWith({ app: { url, ...state } });
      expect(await path('shop')).toBe(console);
    }
    const items = [
      { status: 'pending', url: 'https://not-yet.example.test/' },
      { status: 'active', url: own },
    ];
    answerWith({ domains: { items } });
    expect(await path('shop')).toBe(own);
    answerWith({ domains: { items: [] } });
    expect(await path('shop')).toBe(console);
    answerWith({ app: { relation: 'none' } });
    expect(await path('shop')).toBe(console);
    expect(server.seen.at(-1)?.path).not.toEndWith('/domains');
  });

  test('uses the app of svc.yaml if none is named', async () => {
    answerWith({});
    const folder = newFolder();
    await Bun.write(`${folder}/svc.yaml`, 'name: Shop\napp:\n  slug: shop\n');
    expect((await svc('tables', folder)).out).toBe(`${server.url}/t/demo/apps/shop/tables\n`);
    expect((await svc('--logs', folder)).out).toBe(`${server.url}/t/demo/apps/shop/logs\n`);
    expect((await svc('')).exit).toBe(2);
    expect((await svc('tables')).exit).toBe(2);
    for (const line of ['review ..', 'review .', 'tables .. --app shop'])
      expect([line, (await svc(line)).exit]).toEqual([line, 2]);
  });

  test('git and staging open the URLs of the server, and exit with 5 if there are none', async () => {
    const connection = { web_url: 'https://git.example.test/acme/shop' };
    const site = { staging_enabled: true, staging_url: 'http://shop--staging.apps.example.test/' };
    answerWith({ git: { connection }, site });
    expect(await path('git --app shop')).toBe(connection.web_url);
    expect(await path('staging --app shop')).toBe(site.staging_url);
    answerWith({ git: { connection: null }, site: { ...site, staging_enabled: false } });
    for (const line of ['git --app shop', 'staging --app shop']) {
      const ran = await svc(line);
      expect([line, ran.exit, ran.out, ran.err.includes('nothing_to_open')]).toEqual([line, 5, '', true]);
    }
  });

  test.each([
    'file:///etc/passwd',
    'javascript:alert(1)',
    '--help',
    '/bin/sh',
    'https://me:secret@git.example.test/',
  ])('%s from the server is neither opened nor printed', async (web_url) => {
    answerWith({ git: { connection: { web_url } } });
    expect(await svc('git --app shop')).toMatchObject({ exit: 12, out: '' });
  });

  test.each([
    ['tabels pets', 'svc open tables'],
    ['Reviews', 'svc open reviews'],
    ['shop nowhere', 'svc open --help'],
    ['shop tabels', 'svc open tables'],
    ['app shop reviews', 'not a page of an app'],
    ['shop logs --app shop', 'twice'],
    ['shop tables --logs', '--logs'],
    ['shop tables pets more', 'one argument too many'],
    ['console shop', 'one argument too many'],
    ['reviews --app shop', '--app'],
    ['reviews --logs', '--logs'],
    ['tables --logs --app shop', '--logs'],
    ['shop --app shop', 'twice'],
    ['shop --logs --metrics', '--metrics'],
    ['tables a b --app shop', 'one argument too many'],
  ])('%s is rejected before any request', async (line, named) => {
    const ran = await svc(line);
    expect([ran.exit, ran.out, server.seen]).toEqual([2, '', []]);
    expect(ran.err).toContain(named);
  });
});
