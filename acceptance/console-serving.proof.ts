import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { BrowserContext, Page } from 'playwright-core';
import { patientMs } from '../scripts/patience.ts';
import { useFixture } from '../scripts/use-fixture.ts';
import { hasChromium } from './support/chromium.ts';
import { browserOf } from './support/console/browsing.ts';
import { newPasswordUser, newTenant } from './support/people.ts';
import { until } from './support/until.ts';

const firstLoadBytesMax = 300 * 1024;
const interactiveMsMax = 1_000;

const t = useFixture(newTenant);

const ask = (path: string, init: RequestInit = {}) =>
  fetch(t.server.baseUrl + path, { redirect: 'manual', ...init });

describe('the console', () => {
  test('is one page for all of its URLs, and allows only its own scripts', async () => {
    const home = await ask('/');
    const html = await home.text();
    expect(home.status).toBe(200);
    expect(home.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(home.headers.get('cache-control')).toBe('no-cache');
    expect(home.headers.get('x-request-id')).toBeTruthy();
    const policy = home.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("script-src 'self';");
    expect(policy).toContain("frame-ancestors 'none'");
    for (const path of [`/t/${t.slug}/apps`, '/t/nobody/apps/x/tables/y?view=schema', '/t/'])
      expect([path, await (await ask(path)).text()]).toEqual([path, html]);
  });

  test('has immutable assets named by their content; another name is not found', async () => {
    const html = await (await ask('/')).text();
    const [script = ''] = /\/assets\/[\w-]+\.js/.exec(html) ?? [];
    for (const encoding of ['br', 'gzip', 'identity']) {
      const answer = await ask(script, { headers: { 'accept-encoding': encoding } });
      expect([encoding, answer.status, answer.headers.get('content-encoding')]).toEqual([
        encoding,
        200,
        encoding === 'identity' ? null : encoding,
      ]);
      expect(answer.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
      expect(answer.headers.get('vary')).toContain('accept-encoding');
    }
    for (const path of [
      '/assets/index-0000.js',
      '/assets/../package.json',
      '/assets/%2e%2e/package.json',
      '/assets/',
    ])
      expect([path, (await ask(path)).status]).toEqual([path, 404]);
    expect((await ask('/', { method: 'POST' })).status).toBe(405);
    const head = await ask('/', { method: 'HEAD', headers: { 'accept-encoding': 'identity' } });
    expect([head.status, head.headers.get('content-length')]).toEqual([200, String(html.length)]);
    const refusing = { 'accept-encoding': 'br;q=0, gzip;q=0' };
    expect((await ask('/', { headers: refusing })).headers.get('content-encoding')).toBeNull();
    const rather = { 'accept-encoding': 'br;q=0.1, gzip' };
    expect((await ask('/', { headers: rather })).headers.get('content-encoding')).toBe('gzip');
  });

  test('does not serve the paths of the API', async () => {
    expect((await ask('/nothing')).status).toBe(404);
    expect((await ask('/api/v1/nothing')).headers.get('content-type')).toContain('application/problem+json');
  });
});

describe.if(hasChromium)('the first load', () => {
  let browser: BrowserContext;
  beforeAll(async () => {
    browser = await browserOf(t.server, await newPasswordUser(t.server, t.id));
  });
  afterAll(() => browser.close());

  test('transfers less than 300 KB, and is interactive within a second', async () => {
    const { page, weighed } = await weighedPage(browser);
    let bytes = 0;
    const times: number[] = [];
    // Repeats until one load is undisturbed: other tests keep the machine busy.
    while (times.length < 12 && !times.some((time) => time < interactiveMsMax)) {
      weighed();
      await page.goto(`${t.server.baseUrl}/t/${t.slug}/catalogue`, { waitUntil: 'commit' });
      await page.getByRole('heading', { level: 1, name: 'Catalogue' }).waitFor();
      // Time since navigation start, as the page measures it.
      times.push(Math.round(await page.evaluate(() => performance.now())));
      await page.waitForLoadState('networkidle');
      bytes = weighed();
    }
    console.log(`console: first load ${Math.round(bytes / 1024)} KB, usable after ${times.join(', ')} ms`);
    expect(bytes).toBeGreaterThan(50_000);
    expect(bytes).toBeLessThan(firstLoadBytesMax);
    expect(Math.min(...times)).toBeLessThan(patientMs(interactiveMsMax));
    await page.close();
  });

  test('of every tab of an app transfers less than 300 KB as well', async () => {
    const { page, weighed } = await weighedPage(browser);
    await page.goto(`${t.server.baseUrl}/t/${t.slug}/catalogue`);
    const { slug } = await page.evaluate(async (base) => {
      const headers = { 'content-type': 'application/json' };
      return (await fetch(`${base}/apps`, { method: 'POST', headers, body: '{"name":"Weighed"}' })).json();
    }, t.base);
    const heavy: string[] = [];
    let heaviest = 0;
    for (const part of appParts) {
      weighed();
      await page.goto(`${t.server.baseUrl}/t/${t.slug}/apps/${slug}/${part}`);
      await page.getByRole('tablist').first().waitFor();
      // The network is never idle where a log is followed.
      await until('all is loaded', async () => (await page.getByLabel('Loading').count()) === 0);
      const bytes = weighed();
      heaviest = Math.max(heaviest, bytes);
      if (bytes < 50_000 || bytes >= firstLoadBytesMax) heavy.push(`${part}: ${bytes} bytes`);
    }
    console.log(`console: the heaviest part of an app is ${Math.round(heaviest / 1024)} KB`);
    expect(heavy).toEqual([]);
    await page.close();
  });

  test('leads a signed-out visitor through the sign-in back to the page', async () => {
    const user = await newPasswordUser(t.server, t.id);
    await browser.clearCookies();
    const page = await browser.newPage();
    await page.goto(`${t.server.baseUrl}/t/${t.slug}/tokens?from=mail`);
    await page.getByRole('link', { name: 'Sign in' }).click();
    await page.getByLabel(/e-mail/i).fill(user.email);
    await page.getByLabel('Password').fill(user.password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { level: 1, name: 'Access tokens' }).waitFor();
    expect(new URL(page.url()).search).toBe('?from=mail');
    await page.close();
  });
});

const appParts = [
  'overview',
  'deployments',
  'logs',
  'metrics',
  'tables',
  'releases',
  'domains',
  'storage',
  'people',
  'environment',
  'settings',
];

/** A page without a cache, and the bytes transferred since the last query. */
async function weighedPage(browser: BrowserContext): Promise<{ page: Page; weighed: () => number }> {
  const page = await browser.newPage();
  const session = await browser.newCDPSession(page);
  await session.send('Network.enable');
  await session.send('Network.setCacheDisabled', { cacheDisabled: true });
  let bytes = 0;
  session.on('Network.loadingFinished', (event) => {
    bytes += event.encodedDataLength;
  });
  const weighed = () => {
    const seen = bytes;
    bytes = 0;
    return seen;
  };
  return { page, weighed };
}
