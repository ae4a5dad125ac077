import { describe, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { sha256 } from '../../core/values.ts';
import type { EdgeResponse } from '../../http/edge-request.ts';
import { loginHeaders } from '../../identity/provider/testing.ts';
import {
  cookieSet,
  domains,
  newVisitedApp,
  siteRequest,
  stateName,
  textOf,
  useVisitors,
  visitName,
  type World,
} from './testing.ts';

const { database, one, clock, walk } = useVisitors();

describe('the sign-in at a site', () => {
  test('returns to the requested page with a cookie for this host only', async () => {
    const world = await newVisitedApp(database);
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
    // Cached, so not a promise.
    const request = siteRequest(page, { cookies: { [visitName]: cookie.value } });
    expect(one.visitors.isVisitor(world.site, request)).toBe(true);
    const stored = await sql<{ all: string }>`
      select (select json_agg(v) from svc.site_visits v)::text as all`.execute(database.db);
    expect(stored.rows[0]!.all).toContain(sha256(cookie.value));
    expect(stored.rows[0]!.all).not.toContain(cookie.value);
  });

  test('redirects to the sign-in for any target, and a page ends the redirect chain of the form', async () => {
    const world = await newVisitedApp(database, 'private');
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
      expect(then.text).not.toContain('signed in');
      // Without cookies there is no redirect loop.
      const last = await one.ask({}, { target, state, via: 'page' });
      expect([last.status, last.text.includes('not signed in')]).toEqual([403, true]);
    }
  });

  test('responds alike to a missing site and to one that the person may not see', async () => {
    const world = await newVisitedApp(database, 'invite_only');
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

  test('shortens a return URL that is too long', async () => {
    const world = await newVisitedApp(database);
    const targetOf = (address: string) =>
      new URL(
        one.visitors.redirectToSignIn(world.site, siteRequest(address)).headers.location!,
      ).searchParams.get('target');
    expect(targetOf(`${world.origin}/a?${'b'.repeat(1_900)}`)).toBe(`${world.origin}/a`);
    expect(targetOf(`${world.origin}/${'a'.repeat(1_900)}`)).toBe(`${world.origin}/`);
    expect(targetOf(`${world.origin}//evil.test/`)).toBe(`${world.origin}/`);
    expect(targetOf(`${world.origin}/\\evil.test/`)).toBe(`${world.origin}/`);
  });

  test('shares one state between tabs', async () => {
    const world = await newVisitedApp(database);
    const first = one.visitors.redirectToSignIn(world.site, siteRequest(`${world.origin}/a`));
    const cookies = { [stateName]: cookieSet(first).value };
    const second = one.visitors.redirectToSignIn(world.site, siteRequest(`${world.origin}/b`, { cookies }));
    expect(cookieSet(second).value).toBe(cookieSet(first).value);
  });

  test.each([
    ['another method', { method: 'POST' }],
    ['HEAD', { method: 'HEAD' }],
    ['no page', { headers: { accept: 'application/json' } }],
    ['a fetch', { headers: { 'sec-fetch-mode': 'cors' } }],
    ['a frame', { headers: { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' } }],
  ])('is refused for requests that are no page navigation: %s', async (_, more) => {
    const world = await newVisitedApp(database);
    const answer = one.visitors.redirectToSignIn(world.site, siteRequest(`${world.origin}/`, more));
    expect([answer.status, answer.headers['content-type'], answer.headers['cache-control']]).toEqual([
      401,
      'application/problem+json',
      'no-store',
    ]);
    expect(answer.headers['set-cookie']).toBeUndefined();
    if (answer.body !== null)
      expect(JSON.parse(textOf(answer))).toMatchObject({ code: 'unauthenticated', request_id: 'test-id' });
  });

  test('responds alike at a host without an app', async () => {
    const world = await newVisitedApp(database);
    const at = (host: string) => {
      const answer = one.visitors.redirectToSignIn(
        null,
        siteRequest(`http://${host}/x`, { cookies: { [stateName]: same } }),
      );
      return JSON.stringify(answer).replaceAll(host, 'HOST');
    };
    const same = randomBytes(32).toString('base64url');
    expect(at('no-such-app.apps.localhost')).toBe(at(new URL(world.origin).host));
  });

  test.each(['http://www.shop.test/a?b', 'http://www.shop.test:4400/a?b'])(
    'needs HTTPS if the browser would store no cookie: %s',
    async (address) => {
      const world = await newVisitedApp(database);
      const answer = one.visitors.redirectToSignIn(world.siteAt('domain'), siteRequest(address));
      expect([answer.status, textOf(answer)]).toEqual([403, expect.stringContaining('needs HTTPS')]);
      expect(textOf(answer)).toContain('https://www.shop.test/a');
      expect(answer.headers['set-cookie']).toBeUndefined();
    },
  );

  test('leads to a custom domain over HTTPS, and the visit is valid at that host only', async () => {
    const world = await newVisitedApp(database);
    const host = `${world.app.slug}.test`;
    domains.set(host, world.app.id);
    const cookie = await walk.visitOf(world, world.people.member, `https://${host}:8443/x`);
    const at = (address: string, kind: 'app' | 'domain') =>
      one.visitors.isVisitor(world.siteAt(kind), siteRequest(address, { cookies: { [visitName]: cookie } }));
    expect(await at(`https://${host}:8443/`, 'domain')).toBe(true);
    expect(await at(`${world.origin}/`, 'app')).toBe(false);
    domains.delete(host);
    const { status } = await walk.setOut(world, world.people.member, `https://${host}:8443/x`);
    expect(status).toBe(404);
  });
});

describe('a code', () => {
  const refused = async (answer: EdgeResponse) => {
    expect([answer.status, answer.headers['set-cookie']]).toEqual([400, undefined]);
    expect(textOf(answer)).toContain('Start again');
    expect([answer.headers['cache-control'], answer.headers['referrer-policy']]).toEqual([
      'no-store',
      'no-referrer',
    ]);
  };

  test('is valid once', async () => {
    const world = await newVisitedApp(database);
    const { location, state } = await walk.setOut(world, world.people.member);
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => walk.arrive(location, { [stateName]: state })),
    );
    expect(answers.filter(({ status }) => status === 303)).toHaveLength(1);
    await refused(await walk.arrive(location, { [stateName]: state }));
  });

  test('is valid for a minute', async () => {
    const world = await newVisitedApp(database);
    const { location, state } = await walk.setOut(world, world.people.member);
    const late = await walk.setOut(world, world.people.member);
    try {
      clock.skewMs = 58_000;
      expect((await walk.arrive(location, { [stateName]: state })).status).toBe(303);
      clock.skewMs = 61_000;
      await refused(await walk.arrive(late.location, { [stateName]: late.state }));
    } finally {
      clock.skewMs = 0;
    }
  });

  test.each([
    ['another app', (w: World, o: World) => [w.origin, o.origin] as const],
    ['the staging host', (w: World) => [w.origin, w.staging] as const],
    ['another port', (w: World) => [w.origin, `${w.origin}:8080`] as const],
    ['a host with a dot behind it', (w: World) => [w.origin, `${w.origin}.`] as const],
    ['a custom domain', (w: World) => [w.origin, 'https://www.shop.test'] as const],
  ])('is valid at its own origin only, not at %s, and is consumed', async (_, hosts) => {
    const [world, second] = [await newVisitedApp(database), await newVisitedApp(database)];
    const { location, state } = await walk.setOut(world, world.people.member);
    const [from, to] = hosts(world, second);
    await refused(await walk.arrive(location.replace(from, to), { [stateName]: state }));
    await refused(await walk.arrive(location, { [stateName]: state }));
  });

  test('is valid only in the browser that started the sign-in', async () => {
    const world = await newVisitedApp(database);
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

  test.each(['', 'x', '%00', 'a'.repeat(43), '../..', "' or 1=1 --"])('%j is not a code', async (code) => {
    const world = await newVisitedApp(database);
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
  ])('redirects within the site only: %j', async (to, expected) => {
    const world = await newVisitedApp(database);
    const { location, state } = await walk.setOut(world, world.people.member);
    const requested = location.replace(/&to=.*/, `&to=${encodeURIComponent(to)}`);
    const { status, headers } = await walk.arrive(requested, { [stateName]: state });
    expect([status, headers.location]).toEqual([303, expected]);
    expect(new URL(headers.location!, world.origin).origin).toBe(world.origin);
  });

  test('is accepted by GET and POST only', async () => {
    const world = await newVisitedApp(database);
    for (const method of ['HEAD', 'PUT', 'OPTIONS']) {
      const { location, state } = await walk.setOut(world, world.people.member);
      const request = siteRequest(location, { method, cookies: { [stateName]: state } });
      const answer = (await one.visitors.platformPath(null, request))!;
      expect([method, answer.status, answer.headers.allow]).toEqual([method, 405, 'GET, POST']);
      expect((await walk.arrive(location, { [stateName]: state })).status).toBe(303);
    }
  });
});

describe('a code without state', () => {
  /** A URL that signs in as its owner, as another page could link to. */
  const lureOf = async (world: World, owner: keyof World['people']) => {
    const login = await loginHeaders(database, world.people[owner]);
    const target = `${world.origin}/a?b=c`;
    const { body } = await one.api.call(login, 'POST', '/api/v1/static/auth/start', { target });
    return String(body.redirect_url);
  };
  const open = async (address: string, more: Parameters<typeof siteRequest>[1]) =>
    (await one.visitors.platformPath(null, siteRequest(address, more)))!;
  const formIn = (answer: EdgeResponse) =>
    /<form method="post" action="([^"]*)">/
      .exec(textOf(answer))?.[1]
      ?.replace(/&#(\d+);/g, (_, char) => String.fromCharCode(Number(char)));

  test.each(['cross-site', 'same-site'])(
    'needs confirmation in a %s request and does not change the current visit',
    async (site) => {
      const world = await newVisitedApp(database);
      const own = await walk.visitOf(world, world.people.member);
      const lure = await lureOf(world, 'owner');
      const cookies = { [visitName]: own };
      for (const _ of [1, 2]) {
        const requested = await open(lure, { headers: { 'sec-fetch-site': site }, cookies });
        expect([
          requested.status,
          requested.headers['set-cookie'],
          requested.headers['cache-control'],
        ]).toEqual([200, undefined, 'no-store']);
        expect(requested.headers['content-security-policy']).toContain("frame-ancestors 'none'");
        expect(textOf(requested)).toContain(
          `Continue to ${new URL(world.origin).host} as ${world.people.owner.name}?`,
        );
        expect(new URL(formIn(requested)!, world.origin).href).toBe(lure);
      }
      expect(await walk.sees(world, own)).toBe(true);

      const entered = await open(lure, {
        method: 'POST',
        headers: { 'sec-fetch-site': 'same-origin' },
        cookies,
      });
      expect([entered.status, entered.headers.location]).toEqual([303, '/a?b=c']);
      expect(await walk.sees(world, cookieSet(entered).value)).toBe(true);
      expect((await open(lure, { headers: { 'sec-fetch-site': site } })).status).toBe(400);
    },
  );

  test.each([
    ['sec-fetch-site', 'cross-site'],
    ['sec-fetch-site', 'same-site'],
    ['origin', 'https://evil.test'],
  ])('is refused from a form of another page (%s: %s)', async (name, value) => {
    const world = await newVisitedApp(database);
    const lure = await lureOf(world, 'owner');
    const answer = await open(lure, { method: 'POST', headers: { [name]: value } });
    expect([answer.status, answer.headers['set-cookie']]).toEqual([403, undefined]);
    expect(JSON.parse(textOf(answer))).toMatchObject({ code: 'cross_site_request', request_id: 'test-id' });
    expect((await open(lure, {})).status).toBe(303);
  });

  test.each(['none', 'same-origin', null])(
    'needs no confirmation if the person opened the URL (%p)',
    async (site) => {
      const world = await newVisitedApp(database);
      const headers: Record<string, string> = site === null ? {} : { 'sec-fetch-site': site };
      const answer = await open(await lureOf(world, 'owner'), { headers });
      expect([answer.status, answer.headers.location]).toEqual([303, '/a?b=c']);
    },
  );

  test('is refused without confirmation if it has expired or is for another host', async () => {
    const world = await newVisitedApp(database);
    const headers = { 'sec-fetch-site': 'cross-site' };
    const lure = await lureOf(world, 'owner');
    expect((await open(lure.replace(world.origin, world.staging), { headers })).status).toBe(400);
    const late = await lureOf(world, 'owner');
    try {
      clock.skewMs = 61_000;
      expect((await open(late, { headers })).status).toBe(400);
    } finally {
      clock.skewMs = 0;
    }
  });

  test('a code with state needs no confirmation', async () => {
    const world = await newVisitedApp(database);
    const { location, state } = await walk.setOut(world, world.people.member);
    const answer = await open(location, {
      headers: { 'sec-fetch-site': 'cross-site' },
      cookies: { [stateName]: state },
    });
    expect(answer.status).toBe(303);
  });
});
