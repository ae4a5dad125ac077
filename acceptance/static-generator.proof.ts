import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import type { BrowserContext, Page, Response } from 'playwright-core';
import { hasChromium, openChromium, signInAt } from './support/chromium.ts';
import { admin, run, type Svc, svcFor } from './support/commands.ts';
import { caller, newPasswordUser, newTenant, type PasswordUser, type Tenant } from './support/people.ts';
import { root, temporaryFolder } from './support/server.ts';
import { askSite, type SiteGround, setVisibility } from './support/sites.ts';

const sources = join(root, 'acceptance/fixtures/generator-site');

describe.if(hasChromium)('a site made by Eleventy, in a real browser', () => {
  let tenant: Tenant;
  let owner: PasswordUser;
  let site: SiteGround;
  let asOwner: Svc;
  let asAdmin: Svc;
  let url: string;
  let stagingUrl: string;
  let browser: BrowserContext;
  beforeAll(async () => {
    tenant = await newTenant();
    owner = await newPasswordUser(tenant.server, tenant.id);
    // An admin too: the requester of a review is still refused as its reviewer.
    const membership = ['--tenant', tenant.id, '--user', owner.id, '--role', 'tenant_admin'];
    await admin(tenant.server, ['members', 'set', ...membership]);
    const { access_token } = await admin(tenant.server, ['tokens', 'issue', '--user', owner.id]);
    asOwner = svcFor(tenant.server, { token: access_token!, tenant: tenant.slug });
    asAdmin = svcFor(tenant.server, { token: tenant.admin.token, tenant: tenant.slug });
    const name = `lighthouse-${Bun.randomUUIDv7().slice(-12)}`;
    const made = await asOwner([
      ...words('apps create'),
      '--name',
      name,
      '--deploy-method',
      'static',
      '--execute',
      '--json',
    ]);
    const app = made.json<SiteGround['app']>();
    const { port } = tenant.server;
    url = `http://${app.subdomain}.apps.localhost:${port}`;
    stagingUrl = `http://${app.subdomain}--staging.apps.localhost:${port}`;
    const token = access_token!;
    site = {
      tenant,
      server: tenant.server,
      app,
      host: new URL(url).hostname,
      stagingHost: new URL(stagingUrl).hostname,
      owner: { ...owner, token, call: caller(tenant.server, { authorization: `Bearer ${token}` }) },
      base: `${tenant.base}/apps/${app.id}/static`,
    };
    browser = await openChromium({ width: 900, height: 700 });
  });
  afterAll(() => browser?.close());

  const words = (text: string) => text.split(' ');
  const command = (svc: Svc, text: string, ...more: string[]) =>
    svc(['apps', 'static', ...words(text), '--app', site.app.slug, ...more, '--execute', '--json']);
  /** Runs the command, which must succeed, and returns its output. */
  const did = async <T = Moved>(ran: ReturnType<Svc>): Promise<T> => {
    const { code, stderr, json } = await ran;
    if (code !== 0) throw new Error(`It ended with ${code}: ${stderr}`);
    return json<T>();
  };
  const refused = async (ran: ReturnType<Svc>): Promise<[number, string]> => {
    const { code, stderr } = await ran;
    return [code, (JSON.parse(stderr) as { code: string }).code];
  };
  const deploy = async (edition: string) =>
    did(command(asOwner, 'deploy', '--from-dir', await built(edition), '--release-version', edition));

  test('is deployed, staged, reviewed, promoted, rolled back and unpublished by the command line, and looks right each time', async () => {
    const first = await deploy('first');
    expect([first.pointer, first.state, first.version]).toEqual(['active', 'finalized', 'first']);
    expect(first.url).toBe(`${url}/`);

    // Private: its owner signs in, and is redirected to the requested page.
    const page = await browser.newPage();
    const errors: string[] = [];
    page.on('pageerror', (error) => errors.push(String(error)));
    await page.goto(`${url}/blog/first-light/?from=mail`);
    await signInAt(page, owner);
    await page.waitForURL(`${url}/blog/first-light/?from=mail`);
    await looksRight(page, url, 'first');
    expect((await askSite(site, '/', { headers: { accept: 'text/html' } })).status).toBe(303);

    // Public: the active release stays, the new one is staged for a review.
    await did(command(asOwner, 'site staging enable'));
    await setVisibility(site, 'internet');
    const second = await deploy('second');
    expect(second.pointer).toBe('staged');
    expect(await refused(release(asOwner, 'activate', second))).toEqual([6, 'promotion_required']);
    await looksRight(page, stagingUrl, 'second');

    // From here on an anonymous visitor.
    await browser.clearCookies();
    await shows(page, url, 'first');
    await page.goto(stagingUrl);
    await page.getByLabel(/e-mail/i).waitFor();
    expect(await page.locator('[data-edition]').count()).toBe(0);

    // Another person reviews the release.
    await did(release(asOwner, 'promote-request', second));
    expect(await refused(release(asOwner, 'promote-approve', second))).toEqual([4, 'self_approval']);
    const approved = await did(release(asAdmin, 'promote-approve', second));
    expect([approved.pointer, approved.roles]).toEqual(['active', expect.arrayContaining(['active'])]);
    await looksRight(page, url, 'second');

    // Another promotion, then a rollback; a release without a review cannot be rolled back to.
    const third = await deploy('third');
    await did(release(asOwner, 'promote-request', third));
    await did(release(asAdmin, 'promote-approve', third));
    await shows(page, url, 'third');
    expect(await refused(release(asOwner, 'rollback', first))).toEqual([6, 'promotion_required']);
    expect((await did(release(asOwner, 'rollback', second))).pointer).toBe('active');
    await shows(page, url, 'second');

    // Unpublished, the site serves nothing; published again, it is unchanged.
    await did(command(asOwner, 'site unpublish'));
    for (const path of ['/', '/about/', '/assets/picture.png']) {
      const answer = await page.goto(url + path);
      expect([path, await page.locator('[data-edition]').count()]).toEqual([path, 0]);
      expect([path, answer?.headers()['content-type']]).toEqual([path, expect.stringContaining('html')]);
    }
    await did(release(asOwner, 'activate', second));
    await shows(page, url, 'second');
    // The configuration file is not served.
    expect((await askSite(site, '/svc.yaml')).status).toBe(404);
    expect(errors).toEqual([]);
  });

  const release = (svc: Svc, move: string, { id }: Moved) =>
    command(svc, `releases ${move}`, '--release-id', id);

  /** The page at the root with its assets. */
  async function shows(page: Page, at: string, edition: string): Promise<void> {
    facts(await page.goto(`${at}/`), at, 200);
    await page.waitForFunction(() => document.querySelector('#ran')?.textContent === 'A script has run at /');
    const seen = await page.evaluate(() => ({
      title: document.title,
      edition: document.body.dataset.edition,
      background: getComputedStyle(document.body).backgroundColor,
      border: getComputedStyle(document.querySelector('header') as Element).borderBottomWidth,
      images: [...document.images].map(({ complete, naturalWidth, naturalHeight }) => ({
        complete,
        naturalWidth,
        naturalHeight,
      })),
    }));
    expect(seen).toEqual({
      title: 'Home · Lighthouse',
      edition,
      background: 'rgb(244, 248, 252)',
      border: '3px',
      images: [
        { complete: true, naturalWidth: 48, naturalHeight: 48 },
        { complete: true, naturalWidth: 320, naturalHeight: 160 },
      ],
    });
  }

  /** Checks everything that a visitor or their browser would request. */
  async function looksRight(page: Page, at: string, edition: string): Promise<void> {
    await shows(page, at, edition);
    // Through links, and directly to nested pages.
    await page.getByRole('link', { name: 'About' }).click();
    await page.waitForURL(`${at}/about/`);
    expect(await page.title()).toBe('About · Lighthouse');
    facts(await page.goto(`${at}/blog/first-light/#the-keeper`), at, 200);
    expect(await page.locator('#the-keeper').isVisible()).toBe(true);
    // Redirects of its svc.yaml, and the one to the folder.
    for (const [from, to, title] of [
      ['/old-about', '/about/', 'About'],
      ['/posts/first-light', '/blog/first-light/', 'First light'],
      ['/blog/first-light', '/blog/first-light/', 'First light'],
    ] as const) {
      facts(await page.goto(at + from), at, 200);
      expect([page.url(), await page.title()]).toEqual([at + to, `${title} · Lighthouse`]);
    }
    expect((await page.goto(`${at}/about/`))?.headers()['x-page']).toBe('about');
    // A missing page gets the site's own 404 page, with its style.
    facts(await page.goto(`${at}/no/such/page`), at, 404);
    const missing = await page.evaluate(() => ({
      title: document.title,
      edition: document.body.dataset.edition,
      background: getComputedStyle(document.body).backgroundColor,
    }));
    expect(missing).toEqual({
      title: 'Not here · Lighthouse',
      edition,
      background: 'rgb(244, 248, 252)',
    });
  }

  function facts(answer: Response | null, at: string, status: number): void {
    const headers = answer?.headers() ?? {};
    expect([answer?.url(), answer?.status()]).toEqual([answer?.url(), status]);
    expect(headers['x-frame-options']).toBe('DENY');
    expect(headers['x-content-type-options']).toBe('nosniff');
    if (at === stagingUrl) expect(headers['x-robots-tag']).toContain('noindex');
    else expect(headers).not.toHaveProperty('x-robots-tag');
  }
});

interface Moved {
  id: string;
  pointer: string | null;
  state: string;
  version: string;
  url: string | null;
  roles: string[];
}

/** Builds the site the usual way, into a new folder. */
async function built(edition: string): Promise<string> {
  const folder = join(temporaryFolder(), 'site');
  const generator = join(root, 'node_modules/@11ty/eleventy/cmd.cjs');
  const ran = await run([process.execPath, generator, `--output=${folder}`, '--quiet'], {
    cwd: sources,
    env: { SITE_EDITION: edition },
  });
  if (ran.code !== 0) throw new Error(`Eleventy ended with ${ran.code}: ${ran.stdout}${ran.stderr}`);
  return folder;
}
