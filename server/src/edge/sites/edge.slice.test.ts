import { describe, expect, test } from 'bun:test';
import type { VisitedSite, Visitors } from '../visitors/visitors.ts';
import { createEdge } from './edge.ts';
import type { SiteCache } from './site-cache.ts';
import { edgeDefaults, readAnswer, type TestSite, testRequest, testSite } from './testing.ts';

const visitorsBy = (canVisit: Visitors['isVisitor']): Visitors & { asked: (VisitedSite | null)[] } => {
  const asked: (VisitedSite | null)[] = [];
  return {
    ...edgeDefaults.visitors,
    asked,
    isVisitor(site, request) {
      asked.push(site);
      return canVisit(site, request);
    },
    platformPath: (_site, { path }) =>
      path === '/.svc/auth' ? { status: 200, headers: { from: 'platform' }, body: null } : null,
  };
};

function edgeWith(
  sites: Readonly<Record<string, TestSite | (Omit<TestSite, 'release'> & { release: null })>>,
  set: {
    visitors?: Visitors;
    get?: SiteCache['get'];
    domains?: readonly string[];
    secureOrigin?: (host: string) => string | null;
  } = {},
) {
  const counts: string[] = [];
  const any = Object.values(sites)[0];
  const edge = createEdge({
    ...edgeDefaults,
    sites: {
      peek: (name) => sites[name],
      get: set.get ?? (async (name) => sites[name] ?? null),
      dropRelease: () => {},
    },
    domains: { has: (host) => set.domains?.includes(host) ?? false },
    source: any?.source ?? testSite({}).source,
    visitors: set.visitors ?? visitorsBy(() => false),
    challengeLookup: async (token) => (token === 'known' ? 'known.print' : null),
    sdkModule: async () => new Uint8Array(),
    secureOrigin: set.secureOrigin ?? (() => null),
    count: (method, status) => counts.push(`${method} ${status}`),
    proxy: { pass: async () => undefined, stop: () => {} },
  });
  const ask = (address: string, request: Parameters<typeof testRequest>[1] = {}) => {
    const { host, pathname, search } = new URL(address);
    return readAnswer(edge.answer(testRequest(pathname + search, { host, authority: host, ...request })));
  };
  return { edge, ask, counts };
}

const files = { 'index.html': 'home', 'sw.js': 'worker', 'robots.txt': 'all welcome' };
const at = 'http://shop.apps.test';

describe('visitors of a site', () => {
  test('are not looked up at a public site', async () => {
    const visitors = visitorsBy(() => false);
    const { ask, counts } = edgeWith({ 'shop.apps.test': testSite(files) }, { visitors });
    expect(await ask(`${at}/`)).toMatchObject({ status: 200, text: 'home' });
    expect(visitors.asked).toEqual([]);
    expect(counts).toEqual(['GET 200']);
  });

  test('of a restricted site are allowed or redirected, synchronously or not', async () => {
    const site = testSite(files, { isOpen: false });
    for (const may of [true, false]) {
      for (const access of [may, Promise.resolve(may)]) {
        const { ask } = edgeWith({ 'shop.apps.test': site }, { visitors: visitorsBy(() => access) });
        expect(await ask(`${at}/`)).toMatchObject(
          may ? { status: 200, text: 'home' } : { status: 303, text: '' },
        );
      }
    }
  });

  test('get the same response for an unknown host and for a forbidden site', async () => {
    const closed = edgeWith({ 'shop.apps.test': testSite(files, { isOpen: false }) });
    for (const path of ['/', '/index.html', '/no', '/.svc/auth', '/.svc/no', '/%', '/a?b=c']) {
      for (const method of ['GET', 'HEAD', 'POST']) {
        const [there, nowhere] = [
          await closed.ask(at + path, { method }),
          await closed.ask(`http://none.apps.test${path}`, { method }),
        ];
        expect([path, nowhere]).toEqual([path, there]);
      }
    }
  });

  test('see that nothing is published only if they may visit', async () => {
    const empty = { ...testSite({}, { isOpen: false }), release: null };
    const seen = edgeWith({ 'shop.apps.test': empty }, { visitors: visitorsBy(() => true) });
    expect((await seen.ask(`${at}/`)).text).toContain('Nothing published yet');
    expect(await edgeWith({ 'shop.apps.test': empty }).ask(`${at}/`)).toMatchObject({ status: 303 });
  });

  test('get 421 at a custom domain that is removed during the lookup', async () => {
    const domains = ['shop.example'];
    const get = async () => {
      domains.pop();
      return null;
    };
    const { ask, edge } = edgeWith({}, { domains, get });
    expect(edge.serves('shop.example')).toBe(true);
    expect(await ask('http://shop.example/')).toMatchObject({ status: 421 });
    expect(edge.serves('shop.example')).toBe(false);
  });

  test('get 404 at a custom domain without an app', async () => {
    const { ask, edge } = edgeWith({}, { domains: ['shop.example'] });
    expect(edge.serves('shop.example')).toBe(true);
    expect(await ask('http://shop.example/')).toMatchObject({ status: 404 });
  });
});

describe('every site', () => {
  test('refuses service workers', async () => {
    const { ask } = edgeWith({ 'shop.apps.test': testSite(files) });
    for (const path of ['/sw.js', '/', '/no', '/.svc/auth', '/%'])
      expect(await ask(at + path, { headers: { 'service-worker': 'script' } })).toMatchObject({
        status: 403,
      });
    const worker = await ask(`${at}/sw.js`);
    expect(worker.status).toBe(200);
    expect(Object.keys(worker.headers)).not.toContain('service-worker-allowed');
  });

  test('accepts GET and HEAD only', async () => {
    const { ask, counts } = edgeWith({ 'shop.apps.test': testSite(files) });
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'BREW']) {
      const answer = await ask(`${at}/`, { method });
      expect([method, answer.status, answer.headers.allow]).toEqual([method, 405, 'GET, HEAD']);
    }
    expect(counts).toHaveLength(7);
  });

  test('leaves platform paths to the platform for all methods', async () => {
    const { ask } = edgeWith({ 'shop.apps.test': testSite({ ...files, '.svc/auth': 'mine' }) });
    expect((await ask(`${at}/.svc/auth`, { method: 'POST' })).headers.from).toBe('platform');
    expect(await ask(`${at}/.svc/other`)).toMatchObject({ status: 404 });
  });

  test('answers 414 for a URL that is too long', async () => {
    const { ask } = edgeWith({ 'shop.apps.test': testSite(files) });
    expect(await ask(`${at}/?${'a'.repeat(9_000)}`)).toMatchObject({ status: 414 });
  });

  test('answers ACME challenges first and without a redirect', async () => {
    const secureOrigin = () => 'https://shop.example';
    const { ask } = edgeWith({}, { domains: ['shop.example'], secureOrigin });
    const address = 'http://shop.example/.well-known/acme-challenge';
    expect(await ask(`${address}/known`)).toMatchObject({ status: 200, text: 'known.print' });
    expect(await ask(`${address}/unknown`)).toMatchObject({ status: 404 });
    expect(await ask(`${address}/known`, { method: 'POST' })).toMatchObject({ status: 405 });
    expect(await ask('http://shop.example/a?b')).toMatchObject({
      status: 308,
      location: 'https://shop.example/a?b',
    });
  });

  test('answers errors with a page without details: 503 if temporary, otherwise 500', async () => {
    const failing = (error: Error) => edgeWith({}, { get: () => Promise.reject(error) }).ask(`${at}/`);
    const away = await failing(Object.assign(new Error('connect secret'), { code: 'ECONNREFUSED' }));
    expect([away.status, away.headers['retry-after']]).toEqual([503, '1']);
    const fault = await failing(new Error('secret'));
    expect(fault.status).toBe(500);
    expect(away.text + fault.text).not.toContain('secret');
    const thrown = edgeWith(
      { 'shop.apps.test': testSite(files, { isOpen: false }) },
      {
        visitors: visitorsBy(() => {
          throw new Error('secret');
        }),
      },
    );
    expect(await thrown.ask(`${at}/`)).toMatchObject({ status: 500 });
  });
});

describe('a staging host', () => {
  const host = 'http://shop--staging.apps.test';
  const staged = () => testSite(files, { hostKind: 'staging', isOpen: false });

  test('sends noindex in every response, also without an app', async () => {
    const seen = edgeWith(
      { 'shop--staging.apps.test': staged() },
      { visitors: visitorsBy(async () => true) },
    );
    const turned = edgeWith({ 'shop--staging.apps.test': staged() });
    for (const { ask } of [seen, turned]) {
      for (const path of ['/', '/no', '/%', '/.svc/auth', '/robots.txt', '/index.html'])
        expect([path, (await ask(host + path)).headers['x-robots-tag']]).toEqual([path, 'noindex, nofollow']);
      const none = await ask('http://none--staging.apps.test/');
      expect(none.headers['x-robots-tag']).toBe('noindex, nofollow');
    }
  });

  test('sends noindex with refusals, redirects to HTTPS and errors', async () => {
    const failing = edgeWith({}, { get: () => Promise.reject(new Error('secret')) });
    const secure = edgeWith({}, { secureOrigin: () => 'https://shop--staging.apps.test' });
    const { ask } = edgeWith({ 'shop--staging.apps.test': staged() });
    const answers = [
      await ask(`${host}/`, { headers: { 'service-worker': 'script' } }),
      await ask(`${host}/?${'a'.repeat(9_000)}`),
      await secure.ask(`${host}/`),
      await failing.ask(`${host}/`),
      await ask(`${host}/.well-known/acme-challenge/known`),
    ];
    expect(answers.map(({ status, headers }) => [status, headers['x-robots-tag']])).toEqual(
      [403, 414, 308, 500, 200].map((status) => [status, 'noindex, nofollow']),
    );
  });

  test('disallows all robots, whatever its release contains', async () => {
    const { ask } = edgeWith({ 'shop--staging.apps.test': staged() });
    for (const name of ['shop', 'none'])
      expect(await ask(`http://${name}--staging.apps.test/robots.txt`)).toMatchObject({
        status: 200,
        text: 'User-agent: *\nDisallow: /\n',
      });
  });
});
