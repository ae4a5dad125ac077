import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { BrowserContext, Page } from 'playwright-core';
import { hasChromium, openChromium, signInAt } from './support/chromium.ts';
import { done, newPasswordUser, newTenant, type Person, type Tenant } from './support/people.ts';
import {
  askHost,
  askSite,
  newRelease,
  newSite,
  type SiteGround,
  setVisibility,
  visitorCookie,
} from './support/sites.ts';
import { until } from './support/until.ts';

const page = (title: string) =>
  `<!doctype html><title>${title}</title><h1>${title}</h1><p id="seen"></p><script src="/app.js"></script>`;
const files = {
  'index.html': page('Start'),
  'docs/index.html': page('Docs'),
  'app.js': "globalThis.secret = 'only for some'; document.getElementById('seen')?.append('scripted');",
  'data.json': '{"secret":true}',
};

/** A site with these files and this visibility. */
async function shownSite(
  visibility: Parameters<typeof setVisibility>[1],
  within?: Tenant,
): Promise<SiteGround & { origin: string }> {
  const site = await newSite(undefined, within);
  const release = await newRelease(site, files, { on_finalize: 'deploy' });
  expect(release.pointer).toBe('active');
  await setVisibility(site, visibility);
  return { ...site, origin: `http://${site.host}:${site.server.port}` };
}

const asPage = { headers: { accept: 'text/html' } };

describe('a site with restricted visibility', () => {
  test('redirects page visits to the sign-in and refuses every other request', async () => {
    const site = await shownSite('public');
    const opened = await askSite(site, '/docs/?q=1', asPage);
    expect(opened.status).toBe(303);
    expect(opened.headers.location).toStartWith(`${site.server.baseUrl}/site-auth?`);
    expect(new URL(opened.headers.location!).searchParams.get('target')).toBe(`${site.origin}/docs/?q=1`);
    for (const [path, options] of [
      ['/data.json', {}],
      ['/', { method: 'HEAD' }],
      ['/', { method: 'POST', ...asPage }],
      ['/', { headers: { ...asPage.headers, 'sec-fetch-mode': 'cors' } }],
    ] as const) {
      const answer = await askSite(site, path, options);
      expect([path, answer.status, answer.text.includes('secret')]).toEqual([path, 401, false]);
    }
  });

  test('looks to an outsider like a host that does not exist', async () => {
    const site = await shownSite('private');
    const nobody = `nobody-${Bun.randomUUIDv7().slice(-12)}.apps.localhost`;
    for (const [path, options] of [
      ['/docs/?a', asPage],
      ['/robots.txt', {}],
      ['/.svc/auth?code=x&to=/', asPage],
      ['/.svc/nothing', asPage],
    ] as const) {
      const at = async (host: string) => {
        const { status, headers, text } = await askHost(
          site.server,
          `${host}:${site.server.port}`,
          path,
          options,
        );
        const shown = JSON.stringify([status, { ...headers, date: '', 'x-request-id': '' }, text]);
        // Values generated for each answer do not count as a difference.
        return shown
          .replaceAll(host, 'HOST')
          .replace(/state=[\w-]{43}/g, 'STATE')
          .replace(/\w{8}-\w{4}-\w{4}-\w{4}-\w{12}/g, 'ID');
      };
      expect([path, await at(site.host)]).toEqual([path, (await at(nobody)).replaceAll(nobody, 'HOST')]);
    }
  });

  test('opens by the URL that a program requested, once and at that host only', async () => {
    const [site, other] = [await shownSite('public'), await shownSite('public')];
    const { body, status } = await site.tenant.admin.call('POST', '/api/v1/static/auth/start', {
      target: `${site.origin}/docs/?q=1`,
    });
    expect([status, Date.parse(body.expires_at) - Date.now() <= 60_000]).toEqual([200, true]);
    const { pathname, search } = new URL(body.redirect_url);
    const first = await askSite(site, pathname + search, asPage);
    expect([first.status, first.headers.location]).toEqual([303, '/docs/?q=1']);
    expect(first.headers['set-cookie']).toMatch(
      /^__Host-svc_site=[\w-]{43}; Max-Age=43200; Path=\/; Secure; HttpOnly; SameSite=Lax$/,
    );
    const cookie = first.headers['set-cookie']!.split(';')[0]!;
    expect((await askSite(site, '/data.json', { headers: { cookie } })).text).toBe(files['data.json']);
    expect((await askSite(other, '/data.json', { headers: { cookie } })).status).toBe(401);
    expect((await askSite(site, pathname + search, asPage)).status).toBe(400);

    const again = await site.tenant.admin.call('POST', '/api/v1/static/auth/start', {
      target: `${site.origin}/`,
    });
    const wrong = new URL(again.body.redirect_url);
    expect((await askSite(other, wrong.pathname + wrong.search, asPage)).status).toBe(400);
    expect((await askSite(site, wrong.pathname + wrong.search, asPage)).status).toBe(400);
  });

  test('shows the staged release to owners and, while they have to decide, to admins only', async () => {
    const site = await shownSite('internet');
    const call = site.owner.call;
    expect((await call('POST', `${site.base}/site/staging/enable`)).status).toBe(200);
    const staged = await newRelease(site, { 'index.html': page('Staged') });
    expect((await call('POST', `${site.base}/releases/${staged.id}/stage`)).status).toBe(200);
    const at = `${site.stagingHost}:${site.server.port}`;
    expect((await askHost(site.server, at, '/', asPage)).status).toBe(303);
    const target = `http://${at}/`;
    const start = (person: Person) => person.call('POST', '/api/v1/static/auth/start', { target });
    expect((await start(site.tenant.admin)).status).toBe(404);
    await done(call('POST', `${site.base}/releases/${staged.id}/promote-request`));
    for (const person of [site.owner, site.tenant.admin]) {
      const cookie = await visitorCookie(site, person, site.stagingHost);
      const { text } = await askHost(site.server, at, '/', { headers: { ...asPage.headers, cookie } });
      expect(text).toContain('Staged');
    }
    expect((await start(site.tenant.outsider)).status).toBe(404);
  });

  test('closes for a visitor within a second after they lose their access', async () => {
    const site = await shownSite('invite_only');
    const { admin } = site.tenant;
    const members = `${site.tenant.base}/apps/${site.app.id}/members`;
    expect((await site.owner.call('POST', members, { user_id: admin.id })).status).toBe(201);
    const cookie = await visitorCookie(site, admin);
    const status = async () => (await askSite(site, '/data.json', { headers: { cookie } })).status;
    expect(await status()).toBe(200);
    expect((await site.owner.call('DELETE', `${members}/${admin.id}`)).status).toBe(204);
    await until('the visit has ended', async () => (await status()) === 401, 1_000);
  });
});

describe.if(hasChromium)('with a real browser', () => {
  let site: Awaited<ReturnType<typeof shownSite>>;
  let browser: BrowserContext;
  beforeAll(async () => {
    site = await shownSite('public', await newTenant());
  });
  afterAll(() => browser?.close());

  async function freshBrowser(): Promise<Page> {
    await browser?.close();
    browser = await openChromium({ width: 900, height: 700 });
    return browser.newPage();
  }

  test('a member signs in and returns to the page they opened; signing out of the platform ends the visit', async () => {
    const user = await newPasswordUser(site.server, site.tenant.id);
    const tab = await freshBrowser();
    await tab.goto(`${site.origin}/docs/?q=a%20b&r=1`);
    expect(new URL(tab.url()).origin).toBe(site.server.baseUrl);
    await signInAt(tab, user);
    await tab.waitForURL(`${site.origin}/docs/?q=a%20b&r=1`);
    expect(await tab.getByRole('heading').innerText()).toBe('Docs');
    await tab.getByText('scripted').waitFor();
    const cookies = await browser.cookies(site.origin);
    expect(cookies.find(({ name }) => name === '__Host-svc_site')).toMatchObject({
      domain: site.host,
      path: '/',
      httpOnly: true,
      secure: true,
      sameSite: 'Lax',
    });
    expect(await tab.evaluate('document.cookie')).toBe('');

    // Another site of the tenant needs no password now.
    const second = await shownSite('public', site.tenant);
    await tab.goto(`${second.origin}/#part`);
    expect(tab.url()).toBe(`${second.origin}/#part`);
    expect(await tab.getByRole('heading').innerText()).toBe('Start');

    // Another site's page cannot embed a site with limited visibility.
    const taken = await tab.evaluate((address) => {
      const script = Object.assign(document.createElement('script'), { src: address });
      const { promise, resolve } = Promise.withResolvers<string>();
      script.onload = () => resolve('loaded');
      script.onerror = () => resolve('refused');
      document.body.append(script);
      return promise;
    }, `${site.origin}/app.js`);
    expect(taken).toBe('refused');

    await tab.goto(`${site.server.baseUrl}/healthz`);
    await tab.evaluate(() => {
      const form = Object.assign(document.createElement('form'), { method: 'post', action: '/logout' });
      document.body.append(form);
      form.submit();
    });
    await tab.waitForURL(`${site.server.baseUrl}/`);
    await tab.goto(`${site.origin}/docs/`);
    await tab.getByLabel('Password').waitFor();
  });

  test('an outsider signs in and gets the page of a host that does not exist', async () => {
    const stranger = await newPasswordUser(site.server);
    const tab = await freshBrowser();
    await tab.goto(`${site.origin}/docs/`);
    await signInAt(tab, stranger);
    await tab.getByRole('heading', { name: 'Nothing here' }).waitFor();
    expect(new URL(tab.url()).origin).toBe(site.server.baseUrl);
    const nobody = await tab.goto(
      `http://nobody-${Bun.randomUUIDv7().slice(-12)}.apps.localhost:${site.server.port}/`,
    );
    expect(nobody?.status()).toBe(404);
    expect(await tab.getByRole('heading').innerText()).toBe('Nothing here');
  });

  test('another page can neither frame the site nor sign a visitor in as somebody else', async () => {
    const user = await newPasswordUser(site.server, site.tenant.id);
    const tab = await freshBrowser();
    await tab.goto(`${site.origin}/`);
    await signInAt(tab, user);
    await tab.waitForURL(`${site.origin}/`);
    const cookieOf = async () =>
      (await browser.cookies(site.origin)).find(({ name }) => name === '__Host-svc_site')?.value;
    const own = await cookieOf();

    const elsewhere = await shownSite('internet', site.tenant);
    await tab.goto(`${elsewhere.origin}/`);
    const framed = tab.waitForResponse(`${site.origin}/docs/`);
    await tab.evaluate((src) => {
      document.body.append(Object.assign(document.createElement('iframe'), { src }));
    }, `${site.origin}/docs/`);
    expect((await framed).status()).toBe(401);

    const { body } = await site.owner.call('POST', '/api/v1/static/auth/start', {
      target: `${site.origin}/docs/`,
    });
    await tab.evaluate((address) => location.assign(address), String(body.redirect_url));
    await tab.getByRole('heading', { name: `Continue to ${site.host} as ` }).waitFor();
    expect(await cookieOf()).toBe(own!);
    await tab.getByRole('button', { name: 'Continue' }).click();
    await tab.waitForURL(`${site.origin}/docs/`);
    expect(await tab.getByRole('heading').innerText()).toBe('Docs');
    expect(await cookieOf()).not.toBe(own!);
  });

  test('leaving the site ends the visit there; coming back needs no password', async () => {
    const user = await newPasswordUser(site.server, site.tenant.id);
    const tab = await freshBrowser();
    await tab.goto(`${site.origin}/`);
    await signInAt(tab, user);
    await tab.waitForURL(`${site.origin}/`);
    await tab.evaluate(() => {
      const form = Object.assign(document.createElement('form'), { method: 'post', action: '/.svc/logout' });
      document.body.append(form);
      form.submit();
    });
    await tab.getByRole('heading', { name: 'You have left this site' }).waitFor();
    const names = (await browser.cookies(site.origin)).map(({ name }) => name);
    expect(names).not.toContain('__Host-svc_site');
    await tab.getByRole('link', { name: 'Return to the site' }).click();
    await tab.waitForURL(`${site.origin}/`);
    expect(await tab.getByRole('heading').innerText()).toBe('Start');
  });
});
