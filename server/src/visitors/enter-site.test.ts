import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { loginOf } from '../identity/testing.ts';
import { sha256 } from '../plumbing/canonical.ts';
import type { EdgeAnswer } from '../plumbing/edge-request.ts';
import { type TestDatabase, testDatabase } from '../testing.ts';
import {
  cookieSet,
  domains,
  shownApp,
  stateName,
  textOf,
  type VisitedCopy,
  visitedCopy,
  visitName,
  visitTo,
  type World,
  walksOf,
} from './testing.ts';

let database: TestDatabase;
let skewMs = 0;
let one: VisitedCopy;
let walk: ReturnType<typeof walksOf>;
beforeAll(async () => {
  database = await testDatabase();
  one = await visitedCopy(database, () => new Date(Date.now() + skewMs));
  walk = walksOf(one);
});
afterAll(async () => {
  await one.stop();
  await database.close();
});

describe('the way in', () => {
  test('leads from a page to the sign-in and back to the very page, with a cookie for this host alone', async () => {
    const world = await shownApp(database);
    const page = `${world.origin}/docs/a%20b?q=1&r=%26`;
    const { away, status, location, state } = await walk.setOut(world, world.people.member, page);
    expect([away.status, away.headers['cache-control']]).toEqual([303, 'no-store']);
    expect(away.headers.location).toStartWith('http://svc.example.test/site-auth?target=');
    expect(cookieSet(away)).toMatchObject({
      name: stateName,
      attributes: 'Max-Age=600; Path=/; Secure; HttpOnly; SameSite=Lax',
    });
    expect(status).toBe(303);
    expect(location).toStartWith(`${world.origin}/.svc/auth?code=`);

    const back = await walk.arrive(location, { [stateName]: state });
    expect([back.status, back.headers.location]).toEqual([303, '/docs/a%20b?q=1&r=%26']);
    expect([back.headers['cache-control'], back.headers['referrer-policy']]).toEqual([
      'no-store',
      'no-referrer',
    ]);
    const cookie = cookieSet(back);
    expect([cookie.name, cookie.attributes]).toEqual([
      visitName,
      'Max-Age=43200; Path=/; Secure; HttpOnly; SameSite=Lax',
    ]);
    expect(await walk.sees(world, cookie.value)).toBe(true);
    // Known by now: no promise.
    const request = visitTo(page, { cookies: { [visitName]: cookie.value } });
    expect(one.visitors.visitorAt(world.site, request)).toBe(true);
    const stored = await sql<{ all: string }>`
      select (select json_agg(v) from svc.site_visits v)::text as all`.execute(database.db);
    expect(stored.rows[0]!.all).toContain(sha256(cookie.value));
    expect(stored.rows[0]!.all).not.toContain(cookie.value);
  });

  test('asks who is not signed in to sign in, whatever they want to see, and ends the chain of the form', async () => {
    const world = await shownApp(database, 'private');
    const state = randomBytes(32).toString('base64url');
    for (const target of [
      `${world.origin}/x?y=1`,
      'http://no-such-app.apps.localhost/',
      'https://nowhere.test/',
    ]) {
      const first = await one.ask({}, { target, state });
      expect([first.status, first.location.split('?')[0]]).toEqual([303, 'http://svc.example.test/login']);
      const returnTo = new URL(first.location).searchParams.get('return_to')!;
      const then = await one.ask({}, Object.fromEntries(new URL(returnTo, 'http://x').searchParams));
      expect([then.status, then.refresh]).toEqual([
        200,
        `0;url=${returnTo.replace('via=login', 'via=page')}`,
      ]);
      // Who opens it without a sign-in is not told that they have one.
      expect(then.text).not.toContain('signed in');
      // And is not sent round and round where the browser keeps no cookie.
      const last = await one.ask({}, { target, state, via: 'page' });
      expect([last.status, last.text.includes('not signed in')]).toEqual([403, true]);
    }
  });

  test('is the same 404 for a site that is not there and for one that is not for them', async () => {
    const world = await shownApp(database, 'invite_only');
    const state = randomBytes(32).toString('base64url');
    const browser = await world.browser(world.people.member);
    const answers = await Promise.all(
      [
        `${world.origin}/`,
        `${world.staging}/`,
        'http://no-such-app.apps.localhost/',
        'http://apps.localhost/',
        'https://nowhere.test/',
        'http://svc.example.test/',
        'nonsense',
      ].map((target) => one.ask(browser, { target, state })),
    );
    for (const answer of answers) expect(answer).toEqual(answers[0]!);
    expect(answers[0]!.status).toBe(404);
    expect(await one.ask(browser, { target: `${world.origin}/`, state: 'short' })).toEqual(answers[0]!);
  });

  test('takes along what fits, and the start page otherwise', async () => {
    const world = await shownApp(database);
    const targetOf = (address: string) =>
      new URL(one.visitors.turnAway(world.site, visitTo(address)).headers.location!).searchParams.get(
        'target',
      );
    expect(targetOf(`${world.origin}/a?${'b'.repeat(1_900)}`)).toBe(`${world.origin}/a`);
    expect(targetOf(`${world.origin}/${'a'.repeat(1_900)}`)).toBe(`${world.origin}/`);
    expect(targetOf(`${world.origin}//evil.test/`)).toBe(`${world.origin}/`);
    expect(targetOf(`${world.origin}/\\evil.test/`)).toBe(`${world.origin}/`);
  });

  test('is one for all tabs that are on their way at once', async () => {
    const world = await shownApp(database);
    const first = one.visitors.turnAway(world.site, visitTo(`${world.origin}/a`));
    const cookies = { [stateName]: cookieSet(first).value };
    const second = one.visitors.turnAway(world.site, visitTo(`${world.origin}/b`, { cookies }));
    expect(cookieSet(second).value).toBe(cookieSet(first).value);
  });

  test.each([
    ['another method', { method: 'POST' }],
    ['HEAD', { method: 'HEAD' }],
    ['no page', { headers: { accept: 'application/json' } }],
    ['a fetch', { headers: { 'sec-fetch-mode': 'cors' } }],
    ['a frame', { headers: { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' } }],
  ])('is not for what is not opened by a person: %s', async (_, more) => {
    const world = await shownApp(database);
    const answer = one.visitors.turnAway(world.site, visitTo(`${world.origin}/`, more));
    expect([answer.status, answer.headers['content-type'], answer.headers['cache-control']]).toEqual([
      401,
      'application/problem+json',
      'no-store',
    ]);
    expect(answer.headers['set-cookie']).toBeUndefined();
    if (answer.body !== null)
      expect(JSON.parse(textOf(answer))).toMatchObject({ code: 'unauthenticated', request_id: 'test-id' });
  });

  test('is the same at a host that nobody has', async () => {
    const world = await shownApp(database);
    const at = (host: string) => {
      const answer = one.visitors.turnAway(
        null,
        visitTo(`http://${host}/x`, { cookies: { [stateName]: same } }),
      );
      return JSON.stringify(answer).replaceAll(host, 'HOST');
    };
    const same = randomBytes(32).toString('base64url');
    expect(at('no-such-app.apps.localhost')).toBe(at(new URL(world.origin).host));
  });

  test.each(['http://www.shop.test/a?b', 'http://www.shop.test:4400/a?b'])(
    'needs HTTPS where the browser would keep no cookie: %s',
    async (address) => {
      const world = await shownApp(database);
      const answer = one.visitors.turnAway(world.siteAt('domain'), visitTo(address));
      expect([answer.status, textOf(answer)]).toEqual([403, expect.stringContaining('needs HTTPS')]);
      expect(textOf(answer)).toContain('https://www.shop.test/a');
      expect(answer.headers['set-cookie']).toBeUndefined();
    },
  );

  test('leads to a custom domain by HTTPS, and a visit there does not count at the other hosts', async () => {
    const world = await shownApp(database);
    const host = `${world.app.slug}.test`;
    domains.set(host, world.app.id);
    const cookie = await walk.visitOf(world, world.people.member, `https://${host}:8443/x`);
    const at = (address: string, kind: 'app' | 'domain') =>
      one.visitors.visitorAt(world.siteAt(kind), visitTo(address, { cookies: { [visitName]: cookie } }));
    expect(await at(`https://${host}:8443/`, 'domain')).toBe(true);
    expect(await at(`${world.origin}/`, 'app')).toBe(false);
    domains.delete(host);
    const { status } = await walk.setOut(world, world.people.member, `https://${host}:8443/x`);
    expect(status).toBe(404);
  });
});

describe('a code', () => {
  const refused = async (answer: EdgeAnswer) => {
    expect([answer.status, answer.headers['set-cookie']]).toEqual([400, undefined]);
    expect(textOf(answer)).toContain('Start again');
    expect([answer.headers['cache-control'], answer.headers['referrer-policy']]).toEqual([
      'no-store',
      'no-referrer',
    ]);
  };

  test('is good once', async () => {
    const world = await shownApp(database);
    const { location, state } = await walk.setOut(world, world.people.member);
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => walk.arrive(location, { [stateName]: state })),
    );
    expect(answers.filter(({ status }) => status === 303)).toHaveLength(1);
    await refused(await walk.arrive(location, { [stateName]: state }));
  });

  test('is good for a minute, by the clock', async () => {
    const world = await shownApp(database);
    const { location, state } = await walk.setOut(world, world.people.member);
    const late = await walk.setOut(world, world.people.member);
    try {
      skewMs = 58_000;
      expect((await walk.arrive(location, { [stateName]: state })).status).toBe(303);
      skewMs = 61_000;
      await refused(await walk.arrive(late.location, { [stateName]: late.state }));
    } finally {
      skewMs = 0;
    }
  });

  test.each([
    ['another app', (w: World, o: World) => [w.origin, o.origin] as const],
    ['the staging host', (w: World) => [w.origin, w.staging] as const],
    ['another port', (w: World) => [w.origin, `${w.origin}:8080`] as const],
    ['a host with a dot behind it', (w: World) => [w.origin, `${w.origin}.`] as const],
    ['a custom domain', (w: World) => [w.origin, 'https://www.shop.test'] as const],
  ])('is good at its own origin only, not at %s; and is gone then', async (_, hosts) => {
    const [world, second] = [await shownApp(database), await shownApp(database)];
    const { location, state } = await walk.setOut(world, world.people.member);
    const [from, to] = hosts(world, second);
    await refused(await walk.arrive(location.replace(from, to), { [stateName]: state }));
    await refused(await walk.arrive(location, { [stateName]: state }));
  });

  test('is good in the browser only that set out', async () => {
    const world = await shownApp(database);
    const attempt = async (change: (location: string, state: string) => [string, Record<string, string>]) => {
      const { location, state } = await walk.setOut(world, world.people.member);
      return walk.arrive(...change(location, state));
    };
    const others = randomBytes(32).toString('base64url');
    await refused(await attempt((location) => [location, {}]));
    await refused(await attempt((location) => [location, { [stateName]: others }]));
    await refused(
      await attempt((location, state) => [location.replace(state, others), { [stateName]: state }]),
    );
    await refused(
      await attempt((location, state) => [location.replace(state, others), { [stateName]: others }]),
    );
    await refused(
      await attempt((location, state) => [location.replace(/&state=[^&]*/, ''), { [stateName]: state }]),
    );
  });

  test.each(['', 'x', '%00', 'a'.repeat(43), '../..', "' or 1=1 --"])('%j is none', async (code) => {
    const world = await shownApp(database);
    await refused(await walk.arrive(`${world.origin}/.svc/auth?code=${encodeURIComponent(code)}&to=/`));
    await refused(await walk.arrive(`${world.origin}/.svc/auth`));
  });

  test.each([
    ['/a?b#c', '/a?b#c'],
    ['', '/'],
    ['a', '/'],
    ['//evil.test', '/'],
    ['/\\evil.test', '/'],
    ['\\\\evil.test', '/'],
    ['/..//evil.test', '/'],
    ['/./\\evil.test', '/'],
    ['http://evil.test/', '/'],
    ['https:evil.test', '/'],
    ['javascript:alert(1)', '/'],
    ['/a\r\nSet-Cookie: x=y', '/'],
    ['/\tevil.test', '/'],
    ['/.svc/auth?code=x', '/'],
    [`/${'x'.repeat(3_000)}`, '/'],
  ])('leads to a page of the site, never elsewhere: %j', async (to, expected) => {
    const world = await shownApp(database);
    const { location, state } = await walk.setOut(world, world.people.member);
    const asked = location.replace(/&to=.*/, `&to=${encodeURIComponent(to)}`);
    const { status, headers } = await walk.arrive(asked, { [stateName]: state });
    expect([status, headers.location]).toEqual([303, expected]);
    expect(new URL(headers.location!, world.origin).origin).toBe(world.origin);
  });

  test('is asked for with GET and POST alone', async () => {
    const world = await shownApp(database);
    for (const method of ['HEAD', 'PUT', 'OPTIONS']) {
      const { location, state } = await walk.setOut(world, world.people.member);
      const request = visitTo(location, { method, cookies: { [stateName]: state } });
      const answer = (await one.visitors.platformPath(null, request))!;
      expect([method, answer.status, answer.headers.allow]).toEqual([method, 405, 'GET, POST']);
      expect((await walk.arrive(location, { [stateName]: state })).status).toBe(303);
    }
  });
});

describe('a code that is bound to no browser', () => {
  /** An address that signs in as its maker, as a page elsewhere would have it. */
  const lureOf = async (world: World, maker: keyof World['people']) => {
    const login = await loginOf(database, world.people[maker]);
    const target = `${world.origin}/a?b=c`;
    const { body } = await one.api.call(login, 'POST', '/api/v1/static/auth/start', { target });
    return String(body.redirect_url);
  };
  const open = async (address: string, more: Parameters<typeof visitTo>[1]) =>
    (await one.visitors.platformPath(null, visitTo(address, more)))!;
  const formIn = (answer: EdgeAnswer) =>
    /<form method="post" action="([^"]*)">/
      .exec(textOf(answer))?.[1]
      ?.replace(/&#(\d+);/g, (_, char) => String.fromCharCode(Number(char)));

  test.each(['cross-site', 'same-site'])(
    'signs nobody in who comes from elsewhere (%s) before they say so, and leaves their own visit alone',
    async (site) => {
      const world = await shownApp(database);
      const own = await walk.visitOf(world, world.people.member);
      const lure = await lureOf(world, 'owner');
      const cookies = { [visitName]: own };
      for (const _ of [1, 2]) {
        const asked = await open(lure, { headers: { 'sec-fetch-site': site }, cookies });
        expect([asked.status, asked.headers['set-cookie'], asked.headers['cache-control']]).toEqual([
          200,
          undefined,
          'no-store',
        ]);
        expect(asked.headers['content-security-policy']).toContain("frame-ancestors 'none'");
        expect(textOf(asked)).toContain(
          `Continue to ${new URL(world.origin).host} as ${world.people.owner.name}?`,
        );
        expect(new URL(formIn(asked)!, world.origin).href).toBe(lure);
      }
      expect(await walk.sees(world, own)).toBe(true);

      const said = await open(lure, {
        method: 'POST',
        headers: { 'sec-fetch-site': 'same-origin' },
        cookies,
      });
      expect([said.status, said.headers.location]).toEqual([303, '/a?b=c']);
      expect(await walk.sees(world, cookieSet(said).value)).toBe(true);
      expect((await open(lure, { headers: { 'sec-fetch-site': site } })).status).toBe(400);
    },
  );

  test.each([
    ['sec-fetch-site', 'cross-site'],
    ['sec-fetch-site', 'same-site'],
    ['origin', 'https://evil.test'],
  ])('is not taken from a form of another page (%s: %s)', async (name, value) => {
    const world = await shownApp(database);
    const lure = await lureOf(world, 'owner');
    const answer = await open(lure, { method: 'POST', headers: { [name]: value } });
    expect([answer.status, answer.headers['set-cookie']]).toEqual([403, undefined]);
    expect(JSON.parse(textOf(answer))).toMatchObject({ code: 'cross_site_request', request_id: 'test-id' });
    expect((await open(lure, {})).status).toBe(303);
  });

  test.each(['none', 'same-origin', null])(
    'goes through at once for who opened the address themselves (%p)',
    async (site) => {
      const world = await shownApp(database);
      const headers: Record<string, string> = site === null ? {} : { 'sec-fetch-site': site };
      const answer = await open(await lureOf(world, 'owner'), { headers });
      expect([answer.status, answer.headers.location]).toEqual([303, '/a?b=c']);
    },
  );

  test('one that is over, or of another place, is refused without a question', async () => {
    const world = await shownApp(database);
    const headers = { 'sec-fetch-site': 'cross-site' };
    const lure = await lureOf(world, 'owner');
    expect((await open(lure.replace(world.origin, world.staging), { headers })).status).toBe(400);
    const late = await lureOf(world, 'owner');
    try {
      skewMs = 61_000;
      expect((await open(late, { headers })).status).toBe(400);
    } finally {
      skewMs = 0;
    }
  });

  test('one that is bound asks nothing: its browser set out itself', async () => {
    const world = await shownApp(database);
    const { location, state } = await walk.setOut(world, world.people.member);
    const answer = await open(location, {
      headers: { 'sec-fetch-site': 'cross-site' },
      cookies: { [stateName]: state },
    });
    expect(answer.status).toBe(303);
  });
});
