import { expect, test } from 'bun:test';
import { sql } from 'kysely';
import { browserHeaders, loginHeaders, patHeaders } from '../../identity/provider/testing.ts';
import { codeOf, testCaller, testMutation } from '../../testing.ts';
import { startSiteAuth } from './site-auth.ts';
import {
  config,
  cookieSet,
  domains,
  newVisitedApp,
  startVisitorServer,
  useVisitors,
  visitSteps,
  type World,
} from './testing.ts';

const { database, one, walk } = useVisitors();

const path = '/api/v1/static/auth/start';
const start = (login: Record<string, string>, body: unknown, query = '') =>
  one.api.call(login, 'POST', `${path}${query}`, body);
const codes = async (world: World) => {
  const { rows } = await sql<{ n: number }>`
    select count(*) as n from svc.site_codes where app_id = ${world.app.id}`.execute(database.db);
  return rows[0]!.n;
};

test('a program gets a URL that signs its user in, in any browser', async () => {
  const world = await newVisitedApp(database, 'private');
  const login = await loginHeaders(database, world.people.owner);
  const { status, body } = await start(login, {
    target: `${world.origin}/a/../b?c=d#e`,
    app: world.app.slug,
  });
  expect([status, body.target]).toEqual([200, `${world.origin}/b?c=d#e`]);
  expect(body.redirect_url).toStartWith(`${world.origin}/.svc/auth?code=`);
  const left = Date.parse(body.expires_at) - Date.now();
  expect(left).toBeGreaterThan(50_000);
  expect(left).toBeLessThanOrEqual(60_000);

  const back = await walk.arrive(body.redirect_url);
  expect([back.status, back.headers.location]).toEqual([303, '/b?c=d#e']);
  const cookie = cookieSet(back).value;
  expect(await walk.sees(world, cookie)).toBe(true);
  // The visit ends with the login.
  const [session] = (await one.api.call(login, 'GET', '/api/v1/me/sessions')).body.items;
  expect((await one.api.call(login, 'DELETE', `/api/v1/me/sessions/${session.id}`)).status).toBe(204);
  const fresh = await startVisitorServer(database);
  expect(await visitSteps(fresh).sees(world, cookie)).toBe(false);
  await fresh.stop();
});

test('the audit entry names the person and the site without the code, and a preview creates none', async () => {
  const world = await newVisitedApp(database);
  const login = await loginHeaders(database, world.people.member);
  const target = `${world.origin}/`;
  const preview = await start(login, { target }, '?dry_run=true');
  expect(preview.body.plan).toMatchObject({
    operation: 'sites.startAuth',
    target: { kind: 'site', id: world.app.id, name: new URL(world.origin).host },
  });
  expect((await start(login, { target }, '?dry_run=true')).body).toEqual(preview.body);
  expect(await codes(world)).toBe(0);
  const { body } = await start(login, { target });
  expect(await codes(world)).toBe(1);
  const { rows } = await sql<{ actor_id: string; entry: string }>`
    select actor_id, to_jsonb(e)::text as entry from svc.audit_entries e
    where action = 'sites.startAuth' and target_id = ${world.app.id}`.execute(database.db);
  expect(rows.map(({ actor_id }) => actor_id)).toEqual([world.people.member.userId]);
  const code = new URL(body.redirect_url).searchParams.get('code')!;
  expect(rows[0]!.entry).not.toContain(code);
});

test('a person who may not see the site gets 404', async () => {
  const world = await newVisitedApp(database, 'private');
  const absent = { target: 'http://no-such-app.apps.localhost/' };
  for (const name of ['admin', 'member', 'stranger'] as const) {
    const login = await loginHeaders(database, world.people[name]);
    const answer = await start(login, { target: `${world.origin}/` });
    expect([name, answer.status, answer.body.code]).toEqual([name, 404, 'not_found']);
    expect(answer.body).toEqual((await start(login, absent)).body);
  }
  const login = await loginHeaders(database, world.people.admin);
  expect((await start(login, { target: `${world.staging}/` })).status).toBe(404);
  const open = await newVisitedApp(database, 'internet');
  expect(
    (await start(await loginHeaders(database, world.people.stranger), { target: open.origin })).status,
  ).toBe(200);
  expect((await start(login, { target: open.origin, app: world.app.slug })).status).toBe(404);
});

test('a personal access token and an anonymous caller are refused, a session is not', async () => {
  const world = await newVisitedApp(database);
  const login = await loginHeaders(database, world.people.member);
  const { headers } = await patHeaders(one.api, login, world.tenant.slug);
  const body = { target: `${world.origin}/` };
  expect((await start(headers, body)).body).toMatchObject({ status: 403, code: 'login_required' });
  expect((await start({}, body)).status).toBe(401);
  expect((await start(await browserHeaders(database, world.people.member), body)).status).toBe(200);
});

test('a custom domain is accepted over HTTPS only, and only while it is active', async () => {
  const world = await newVisitedApp(database);
  const login = await loginHeaders(database, world.people.member);
  const host = `${world.app.slug}.example.test`;
  const at = async (address: string) => (await start(login, { target: address })).status;
  expect(await at(`https://${host}/`)).toBe(404);
  domains.set(host, world.app.id);
  expect([await at(`https://${host}/`), await at(`https://${host}:8443/`)]).toEqual([200, 200]);
  expect([
    await at(`http://${host}/`),
    await at(`https://${host}:4400/`),
    await at(`https://${host}./`),
  ]).toEqual([404, 404, 404]);
});

test('1,000 hostile targets are refused', async () => {
  const world = await newVisitedApp(database, 'internet');
  const other = await newVisitedApp(database, 'private');
  const { host } = new URL(world.origin);
  const spellings = [
    'https://',
    'HTTP://',
    'http:',
    'http:/',
    'http:///',
    'http:\\\\',
    '//',
    'ftp://',
    'javascript://',
    'data:',
    'blob:http://',
    'view-source:http://',
    ' http://',
    '\thttp://',
    'http://\n',
    'http:// ',
    'ht\ntp://',
    '\0http://',
    'http://@',
    'http://:@',
    'http://a@',
    'http://a:b@',
    'http://evil.test@',
    'http://evil.test\\@',
    'http://evil.test%2f@',
    'http://evil.test/',
    'http://evil.test#',
    'http://evil.test?',
    'http://evil.test\\',
    'http://evil.test:80#@',
    'http://.',
    'http://evil.',
    'http://xn--',
    'http://%00',
    'http://\u200b',
    'http://[::ffff:127.0.0.1].',
    'http://127.0.0.1/',
    'http://-',
  ].map((before) => `${before}${host}`);
  const endings = [
    ':8080',
    ':0',
    ':-1',
    ':99999',
    ':80x',
    ':８０',
    ':080',
    '.',
    '..',
    '.evil.test',
    '@evil.test',
    '\\@evil.test',
    '%2eevil.test',
    '%00',
    '\0',
    '\t',
    ' ',
    '\\',
    '\u3002evil.test',
    '\uff0eevil.test',
    '\u2024',
    '\u200d',
    ';evil.test',
    ',evil.test',
    '&evil.test',
    '!',
    '%',
    '%zz',
    '*',
    '[',
    ']',
    '<',
    '>',
    '`',
    '{',
    '|',
    '^',
    '"',
  ].map((behind) => `http://${host}${behind}`);
  const paths = [
    '//evil.test',
    '/\\evil.test',
    '/..//evil.test',
    '/a\r\nb: c',
    '/\tx',
    '/%2e%2e//x',
    '/a b',
    `/${'x'.repeat(1_990)}`,
  ];
  const hosts = [
    'svc.example.test',
    'apps.localhost',
    'localhost',
    '127.0.0.1',
    '[::1]',
    '0',
    '0x7f000001',
    '2130706433',
  ];
  const tails = [
    '',
    '/',
    '/a',
    '?a',
    '#a',
    '/.svc/auth?code=x',
    '/a?to=//evil.test',
    '/%5C',
    '/?@',
    '/:80',
    '/a/..',
    '/é',
  ];
  const targets = [
    ...[...spellings, ...endings].flatMap((base) => tails.map((tail) => `${base}${tail}`)),
    ...paths.map((tail) => `http://${host}${tail}`),
    ...hosts.flatMap((name) => tails.map((tail) => `http://${name}${tail}`)),
    ...tails.flatMap((tail) => [
      `${other.origin}${tail}`,
      `${world.staging}${tail}`,
      `https://evil.test${tail}`,
    ]),
    ...[host.toUpperCase(), `a.${host}`, `${host.replace('.apps', '--x.apps')}`].map(
      (name) => `http://${name}/`,
    ),
  ].filter((target) => target.length <= 2_000);
  expect(targets.length).toBeGreaterThan(1_000);

  const caller = testCaller({ userId: world.people.stranger.userId });
  const findAppAtDomain = async () => null;
  const attempt = (target: string) =>
    codeOf(
      testMutation(database.db, caller, (ctx) =>
        startSiteAuth(ctx, { ...config, findAppAtDomain }, { target }),
      ),
    );
  const answers = new Map<string, string>();
  for (const target of targets) answers.set(target, await attempt(target));
  const accepted = [...answers].filter(([, code]) => !['not_found', 'validation_failed'].includes(code));
  console.log(`start: ${targets.length} hostile targets, ${accepted.length} accepted`);
  expect(accepted).toEqual([]);
  expect([await codes(world), await codes(other)]).toEqual([0, 0]);
  expect(await attempt(`http://${host}/`)).toBe('done');
});
