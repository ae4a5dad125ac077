import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BrowserContext, Page } from 'playwright-core';
import { hasChromium } from './support/chromium.ts';
import { svcFor } from './support/commands.ts';
import { browserOf, complaintsOf, violationsOf, waitUntilLoaded } from './support/console/browsing.ts';
import { type ConsoleTenant, newConsoleTenant, type Visitor } from './support/console/world.ts';
import { git, mustGit, remoteOf } from './support/git.ts';
import { done } from './support/people.ts';
import { root, startEmbedded, temporaryFolder, writeFiles } from './support/server.ts';
import { bundleForBrowser } from './support/todo-app.ts';

describe.if(hasChromium)('from a push to people', () => {
  let tenant: ConsoleTenant;
  let app: { id: string; slug: string; url: string };
  let ada: BrowserContext;
  let max: BrowserContext;
  let push: (title: string) => Promise<string>;
  beforeAll(async () => {
    const server = await startEmbedded();
    tenant = await newConsoleTenant(server, 'Contoso');
    const { member: olga, base } = tenant;
    const created = await done(
      olga.call('POST', `${base}/apps`, {
        name: 'Errands',
        summary: 'What is to be done',
        deploy_method: 'static',
      }),
    );
    app = await done(olga.call('GET', `${base}/apps/${created.id}`));
    const columns = 'owner:uuid title:text done:bool:false rank:bigint:nullable due:timestamptz:nullable';
    const table = { name: 'todos', owner_column: 'owner', columns: columns.split(' ') };
    await done(olga.call('POST', `${base}/apps/${app.id}/tables`, table));
    push = await newWorkingCopy(tenant, app);
    [ada, max] = await Promise.all([browserOf(server, tenant.admin), browserOf(server, tenant.outsider)]);
  });
  afterAll(() => Promise.all([ada, max].map((browser) => browser?.close())));

  const open = async (browser: BrowserContext, path: string) => {
    const page = await browser.newPage();
    const complaints = complaintsOf(page);
    await page.goto(`${tenant.server.baseUrl}/t/${tenant.slug}/${path}`);
    await waitUntilLoaded(page);
    return { page, complaints };
  };
  /** Opens the link in its new tab. */
  const follow = async (browser: BrowserContext, click: () => Promise<void>): Promise<Page> => {
    const [tab] = await Promise.all([browser.waitForEvent('page'), click()]);
    return tab;
  };
  const approve = async (page: Page) => {
    await page.getByRole('button', { name: 'Approve' }).click();
    const dialog = page.getByRole('dialog', { name: 'Approve the request' });
    await dialog.getByText('the following changes will be made').waitFor();
    await dialog.getByRole('button', { name: 'Approve', exact: true }).click();
    await dialog.waitFor({ state: 'hidden' });
  };

  test('a push to a published app is staged, opened and approved by a reviewer, and seen by a visitor', async () => {
    expect(await push('Errands one')).toContain('live at');
    const { id } = await done(
      tenant.member.call('POST', `${tenant.base}/apps/${app.id}/publication-requests`, {
        visibility: 'public',
      }),
    );
    await done(tenant.admin.call('POST', `${tenant.base}/reviews/${id}/approve`, { note: '' }));

    const said = await push('Errands two');
    expect(said).toContain('waiting for review');
    expect(said).toContain(`Next: svc review history --app ${app.slug}`);
    const svc = svcFor(tenant.server, { token: tenant.admin.token, tenant: tenant.slug });
    const listed = await svc(['review', 'list']);
    expect([listed.code, listed.stdout]).toEqual([0, expect.stringContaining('promotion')]);

    // Ada is neither owner nor member of the app. She finds it in the queue and opens what waits, with one sign-in.
    const { page, complaints } = await open(ada, 'reviews');
    await page.getByRole('link', { name: 'Errands' }).click();
    await page.getByRole('heading', { level: 1, name: 'New release of Errands' }).waitFor();
    await page.getByText('1 changed').waitFor();
    await page.getByRole('listitem').filter({ hasText: 'index.html' }).waitFor();
    await page.getByRole('button', { name: 'Show build log' }).click();
    await page.getByText('an admin must approve it first').waitFor();
    expect(await violationsOf(page)).toEqual([]);
    const preview = await follow(ada, () => page.getByRole('link', { name: 'Open preview' }).click());
    await preview.getByRole('heading', { name: 'Errands two' }).waitFor();
    expect(new URL(preview.url()).hostname).toBe(new URL(app.url).hostname.replace('.', '--staging.'));
    // Nobody has reviewed this code: it asks before it signs anybody in.
    await preview.getByRole('button', { name: 'Sign in' }).click();
    await preview.getByRole('button', { name: 'Allow' }).click();
    await preview.getByText(tenant.admin.email).waitFor();
    await approve(page);
    await page.getByText(/^approved by/).waitFor();
    await preview.reload();
    await preview.getByRole('heading', { name: 'Errands two' }).waitFor({ state: 'detached' });

    // Max opens the card of the catalogue: no password and no page in between, also for the sign-in of the app.
    const catalogue = await open(max, 'catalogue');
    const used = await follow(max, () =>
      catalogue.page.getByRole('link', { name: 'Errands', exact: true }).click(),
    );
    await used.getByRole('heading', { name: 'Errands two' }).waitFor();
    expect(used.url()).toBe(app.url);
    await used.getByRole('button', { name: 'Sign in' }).click();
    await used.getByText(tenant.outsider.email).waitFor();
    expect(used.url()).toBe(app.url);

    // The details are for visitors: no controls.
    await catalogue.page.getByRole('link', { name: 'Details of Errands' }).click();
    await catalogue.page.getByRole('heading', { level: 1, name: 'Errands' }).waitFor();
    await catalogue.page.getByRole('link', { name: tenant.member.name }).waitFor();
    expect(await catalogue.page.getByRole('tab').count()).toBe(0);
    expect(await catalogue.page.getByRole('link', { name: 'Open app' }).getAttribute('href')).toBe(app.url);
    expect(await violationsOf(catalogue.page)).toEqual([]);
    expect([...complaints, ...catalogue.complaints]).toEqual([]);
  });
});

/** A repository of the example app of the SDK; each push changes its heading. */
async function newWorkingCopy(tenant: ConsoleTenant, app: { id: string; slug: string }) {
  const owner: Visitor = tenant.member;
  const settings = { baseUrl: tenant.server.baseUrl, tenant: tenant.slug, app: app.slug, appId: app.id };
  const html = readFileSync(join(root, 'sdk/example/index.html'), 'utf8').replace(
    /(<script type="application\/json" id="settings">)[^<]*/,
    (_, tag) => tag + JSON.stringify(settings),
  );
  const folder = temporaryFolder();
  await mustGit(['init', '-q', '-b', 'main'], folder);
  writeFiles(folder, { 'app.js': await bundleForBrowser('sdk/example/app.ts') });
  const remote = remoteOf(tenant, owner, `${tenant.slug}/${app.slug}`);
  return async (title: string) => {
    writeFiles(folder, { 'index.html': html.replace('<h1>Todos</h1>', `<h1>${title}</h1>`) });
    await mustGit(['add', '-A'], folder);
    await mustGit(['commit', '-q', '-m', title], folder);
    return (await git(['push', '-o', 'wait', remote, 'HEAD'], folder)).stderr;
  };
}
