import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BrowserContext, Page } from 'playwright-core';
import { hasChromium, openChromium } from './support/chromium.ts';
import { admin, svcFor } from './support/commands.ts';
import { browserOf, complaintsOf, violationsOf, waitUntilLoaded } from './support/console/browsing.ts';

import { newConsoleTenant, newVisitor, type Visitor } from './support/console/world.ts';
import { newPageTemplate } from './support/git.ts';
import { png } from './support/images.ts';
import { done, type Tenant } from './support/people.ts';

import { type RunningServer, startEmbedded, temporaryFolder } from './support/server.ts';
import { answerLogin, startLogin } from './support/sign-in.ts';
import { newRelease } from './support/sites.ts';
import { until } from './support/until.ts';

describe.if(hasChromium)('publishing an app in the console', () => {
  let server: RunningServer;
  let slug: string;
  let id: string;
  let base: string;
  let ada: Visitor;
  let olga: Visitor;
  let max: Visitor;
  let admins: BrowserContext;
  let owners: BrowserContext;
  let strangers: BrowserContext;
  beforeAll(async () => {
    server = await startEmbedded();
    const tenant = await newConsoleTenant(server, 'Fabrikam');
    ({ slug, id, base, admin: ada, member: olga, outsider: max } = tenant);
    [admins, owners, strangers] = await Promise.all([
      browserOf(server, ada),
      browserOf(server, olga),
      openChromium({ width: 1280, height: 900 }),
    ]);
  });
  afterAll(() => Promise.all([admins, owners, strangers].map((browser) => browser?.close())));

  async function open(browser: BrowserContext, path: string): Promise<{ page: Page; complaints: string[] }> {
    const page = await browser.newPage();
    const complaints = complaintsOf(page);
    await page.goto(`${server.baseUrl}/t/${slug}/${path}`);
    await waitUntilLoaded(page);
    return { page, complaints };
  }

  /** Confirms the preview. */
  async function confirm(page: Page, title: string, verb: string) {
    const dialog = page.getByRole('dialog', { name: title });
    await dialog.getByText('the following changes will be made').waitFor();
    await dialog.getByRole('button', { name: verb, exact: true }).click();
    await dialog.waitFor({ state: 'hidden' });
  }

  /** The reason that a disabled button shows. */
  async function reasonOf(page: Page, name: string): Promise<string | null> {
    const button = page.getByRole('button', { name: new RegExp(`^${name}`) });
    await button.and(page.locator('[aria-disabled=true]')).waitFor();
    const id = await button.getAttribute('aria-describedby');
    return page.locator(`[id="${id}"]`).textContent();
  }

  const newSite = async (name: string) => {
    const app = await done(olga.call('POST', `${base}/apps`, { name, deploy_method: 'static' }));
    const site = { owner: olga, base: `${base}/apps/${app.id}/static` };
    await newRelease(site, { 'index.html': `<h1>${name}</h1>` }, { on_finalize: 'deploy' });
    return app;
  };
  const ask = (app: { id: string }, visibility: string) =>
    done(olga.call('POST', `${base}/apps/${app.id}/publication-requests`, { visibility }));

  test('works from the login on the command line to the visitor', async () => {
    // Olga signs the command line in with the browser where she is signed in already.
    const env = { SVC_BASE_URL: server.baseUrl, SVC_CONFIG_DIR: join(temporaryFolder(), 'config') };
    const login = await startLogin(env, ['--no-browser']);
    const device = await owners.newPage();
    await device.goto(login.address);
    const code = device.getByLabel(/code/i);
    if ((await code.inputValue()) === '') await code.fill(login.code);
    await device.getByRole('button', { name: /continue/i }).click();
    await device.getByText(login.code).waitFor();
    await device.getByRole('button', { name: 'Approve' }).click();
    expect((await login.ended).code).toBe(0);
    await device.close();

    // She creates an app in the browser …
    const { page, complaints } = await open(owners, 'catalogue');
    await page.getByRole('heading', { name: 'The catalogue is empty' }).waitFor();
    await page.getByRole('link', { name: 'New app' }).click();
    await page.getByRole('link', { name: 'An empty app' }).click();
    await page.getByLabel('Name').fill('Summer party');
    await page.getByText('summer-party is available.').first().waitFor();
    await page.getByRole('combobox', { name: 'Deployed as' }).click();
    await page.getByRole('option', { name: /^Static/ }).click();
    await page.getByRole('button', { name: 'Preview app' }).click();
    await confirm(page, 'Create an app', 'Create');
    await page.getByRole('heading', { level: 1, name: 'Summer party' }).waitFor();
    expect(await reasonOf(page, 'Request publication')).toContain('Deploy the app first');

    // … deploys it with the command line …
    const folder = join(temporaryFolder(), 'dist');
    mkdirSync(folder);
    const html = '<!doctype html><html lang="en"><title>Party</title><h1>Summer party</h1></html>';
    writeFileSync(join(folder, 'index.html'), html);
    const line = ['apps', 'static', 'deploy', '--app', 'summer-party', '--from-dir', folder, '--execute'];
    const deployed = await svcFor(server)(line, { env: { ...env, SVC_TENANT: slug } });
    expect([deployed.code, deployed.stderr]).toEqual([0, expect.anything()]);
    const app = await done(olga.call('GET', `${base}/apps/summer-party`));
    const visitor = await strangers.newPage();
    await visitor.goto(app.url);
    expect(await visitor.getByRole('heading', { name: 'Summer party' }).count()).toBe(0);

    // … and asks for its publication.
    await page.reload();
    await page.getByRole('button', { name: 'Request publication' }).click();
    await page.getByRole('radio', { name: 'Internet' }).check();
    await page.getByLabel('Note for the reviewer').fill('Everybody is invited.');
    await page.getByRole('button', { name: 'Preview request' }).click();
    await confirm(page, 'Request publication', 'Send request');
    await page.getByRole('link', { name: 'Open request' }).click();
    await page.getByRole('heading', { level: 1, name: 'Publish Summer party' }).waitFor();
    expect(await reasonOf(page, 'Approve')).toContain('You made this request');
    expect(await reasonOf(page, 'Reject')).toContain('Withdraw it instead');
    expect(await violationsOf(page)).toEqual([]);
    expect((await done(olga.call('GET', `${base}/apps/${app.id}`))).visibility).toBe('private');

    // Ada gets a notification, opens it and approves.
    const review = await open(admins, 'apps');
    await review.page.getByRole('link', { name: 'Notifications, 1 unread' }).click();
    await review.page.getByRole('link', { name: /Summer party requests to be internet/ }).click();
    await review.page.getByText('release #1').first().waitFor();
    await review.page.getByText('Everybody is invited.').waitFor();
    expect(await violationsOf(review.page)).toEqual([]);
    const waiting = await open(owners, 'apps/summer-party');
    await waiting.page.getByText('Waiting for review').first().waitFor();
    await review.page.getByLabel('Approval note').fill('See you there.');
    await review.page.getByRole('button', { name: 'Approve' }).click();
    await confirm(review.page, 'Approve the request', 'Approve');
    expect(await reasonOf(review.page, 'Approve')).toContain('already approved');
    expect(await done(olga.call('GET', `${base}/apps/${app.id}`))).toMatchObject({
      visibility: 'internet',
      review_status: 'approved',
    });

    await visitor.goto(app.url);
    await visitor.getByRole('heading', { name: 'Summer party' }).waitFor();

    // Olga's page shows the approval without a reload.
    await waiting.page.getByText('Waiting for review').first().waitFor({ state: 'detached' });
    await waiting.page.close();

    // Olga opens the notification of the decision; then nothing is unread.
    await page.goto(`${server.baseUrl}/t/${slug}/notifications`);
    await page.getByText('See you there.').waitFor();
    await page.getByRole('button', { name: 'Mark all as read' }).click();
    await confirm(page, 'Mark as read', 'Mark as read');
    await page.getByText('All notifications are read.').waitFor();
    expect(await reasonOf(page, 'Mark all as read')).toBe('No unread notifications.');
    expect([...complaints, ...review.complaints]).toEqual([]);
  });

  test('published apps are in the catalogue and found by words', async () => {
    const app = await newSite('Bicycle pool');
    const { id } = await ask(app, 'public');
    await done(ada.call('POST', `${base}/publication-requests/${id}/approve`, { note: '' }));
    const { page, complaints } = await open(owners, 'catalogue?sort=name');
    await page.getByRole('link', { name: 'Bicycle pool', exact: true }).waitFor();
    await page.getByLabel('Search').fill('submarine');
    await page.getByRole('heading', { name: 'No app matches' }).waitFor();
    expect(new URL(page.url()).search).toContain('q=submarine');
    await page.getByRole('button', { name: 'Show all apps' }).click();
    await page.getByRole('link', { name: 'Details of Bicycle pool' }).click();
    await page.getByRole('heading', { level: 1, name: 'Bicycle pool' }).waitFor();
    await page.goBack();
    await page.getByRole('heading', { level: 1, name: 'Catalogue' }).waitFor();
    expect(complaints).toEqual([]);
    await page.close();
  });

  test('narrowing the visibility withdraws open requests; the settings cannot widen it', async () => {
    const app = await newSite('Ski trip');
    const first = await ask(app, 'invite_only');
    await done(ada.call('POST', `${base}/publication-requests/${first.id}/approve`, { note: '' }));
    const { id } = await ask(app, 'public');
    const { page, complaints } = await open(owners, `apps/${app.slug}/settings`);
    expect(await reasonOf(page, 'Widen to Internet')).toContain('Request publication instead');
    await page.getByLabel('Description').fill('Typed before the app was changed elsewhere');
    await page.getByRole('button', { name: 'Narrow to Private' }).click();
    await confirm(page, 'Narrow the visibility', 'Narrow');
    expect((await done(olga.call('GET', `${base}/apps/${app.id}`))).visibility).toBe('private');
    expect((await done(olga.call('GET', `${base}/publication-requests/${id}`))).status).toBe('withdrawn');

    await page.getByLabel('Icon for light background', { exact: true }).setInputFiles({
      name: 'skis.png',
      mimeType: 'image/png',
      buffer: Buffer.from(png()),
    });
    await confirm(page, 'Upload skis.png', 'Upload');
    const { icon_url: icon } = await done(olga.call('GET', `${base}/apps/${app.id}`));
    expect(icon).toStartWith(server.baseUrl);

    await page.getByLabel('Summary').fill('Who drives, who skis');
    await page.getByRole('button', { name: 'Save details' }).click();
    await confirm(page, 'Update the app', 'Save');
    expect(await done(olga.call('GET', `${base}/apps/${app.id}`))).toMatchObject({
      summary: 'Who drives, who skis',
      description: 'Typed before the app was changed elsewhere',
    });
    expect(await reasonOf(page, 'Purge')).toContain('Delete it first');
    expect(complaints).toEqual([]);
    await page.close();
  });

  test('an app is created from a template, and waits for an approval at the git host', async () => {
    await newPageTemplate({ server, slug, base, admin: ada, member: olga, outsider: max, id } as Tenant);
    const { page, complaints } = await open(owners, 'apps/new?way=template');
    await page.getByRole('radio', { name: /^A page/ }).check();
    await page.getByLabel('Name').fill('Garden');
    await page.getByText('garden is available.').first().waitFor();
    await page.getByRole('button', { name: 'Preview app' }).click();
    await confirm(page, 'Create an app from a template', 'Create app');
    await page.getByText('App created').waitFor();
    await page.getByText(/^git clone http/).waitFor();
    expect(await violationsOf(page)).toEqual([]);

    // The built-in host needs no approval; an answer in the waiting state stands for the page of another host.
    const run = await done(
      olga.call('GET', `${base}/bootstraps/${new URL(page.url()).searchParams.get('run')}`),
    );
    let state = 'awaiting_approval';
    await page.route('**/bootstraps/*', (route) => route.fulfill({ json: { ...run, state } }));
    await page.reload();
    await page.getByRole('button', { name: 'Get a new code' }).click();
    await confirm(page, 'Get a new code', 'Get code');
    const address = await page.getByRole('link', { name: /^http.*device/ }).getAttribute('href');
    const code = await page.getByText(/^[A-Z0-9]{4}-[A-Z0-9]{4}$/).textContent();
    expect(await violationsOf(page)).toEqual([]);
    await answerLogin({ address: address!, code: code! }, olga);
    // The page polls until the account is linked.
    await until(
      'the account is linked',
      async () => {
        const accounts = await done(olga.call('GET', `${base}/git-host/accounts`));
        return accounts.items.length === 1;
      },
      30_000,
    );
    state = 'done';
    await page.getByText('App created').waitFor();
    expect(complaints).toEqual([]);
    await page.close();
  });

  test('people are added and the app is transferred, by name', async () => {
    const app = await newSite('Book club');
    const { page, complaints } = await open(owners, `apps/${app.slug}/people`);
    await page.getByLabel('E-mail address', { exact: true }).fill(max.email);
    await page.getByRole('combobox', { name: 'As' }).click();
    await page.getByRole('option', { name: /^Co-owner/ }).click();
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await confirm(page, 'Add a co-owner', 'Add');
    await page.getByRole('button', { name: 'Remove Max Member' }).waitFor();
    expect(await reasonOf(page, 'Remove Olga Owner')).toContain('transferring');
    expect(await violationsOf(page)).toEqual([]);

    await page.getByLabel('E-mail address of the new owner').fill(max.email);
    await page.getByRole('button', { name: 'Transfer' }).click();
    const dialog = page.getByRole('dialog', { name: 'Transfer ownership' });
    expect(await dialog.getByRole('button', { name: 'Transfer' }).isDisabled()).toBe(true);
    await dialog.getByLabel(/^Type “/).fill(app.slug);
    await dialog.getByRole('button', { name: 'Transfer' }).click();
    await dialog.waitFor({ state: 'hidden' });
    expect((await done(olga.call('GET', `${base}/apps/${app.id}`))).owner_id).toBe(max.id);
    expect(complaints).toEqual([]);
    await page.close();
  });

  test('an admin who is not an owner sees at each button that it is for owners', async () => {
    // Apps of every kind can have releases of files.
    const app = await done(olga.call('POST', `${base}/apps`, { name: 'Diary' }));
    const site = { owner: olga, base: `${base}/apps/${app.id}/static` };
    const release = await newRelease(site, { 'index.html': '<h1>Diary</h1>' }, { on_finalize: 'deploy' });
    const { id } = await ask(app, 'public');

    const overview = await open(admins, `apps/${app.slug}`);
    expect(await reasonOf(overview.page, 'Open app')).toContain('The app is private');
    const live = overview.page.getByRole('region', { name: 'Live' });
    await live.getByText(/^Olga Owner, live since/).waitFor();
    expect(await live.getByRole('link', { name: /^Release / }).getAttribute('href')).toEndWith(release.id);
    expect(await live.getByText('Nothing is live.').count()).toBe(0);
    expect(overview.complaints).toEqual([]);
    await overview.page.close();

    const review = await open(admins, `reviews/${id}`);
    await review.page.getByRole('link', { name: 'Open preview' }).waitFor();
    expect(await violationsOf(review.page)).toEqual([]);
    await review.page.close();

    const people = await open(admins, `apps/${app.slug}/people`);
    expect(await reasonOf(people.page, 'Grant consent')).toStartWith('Only the owner can grant consent');
    const handOver = people.page.getByRole('button', { name: 'Transfer' });
    await until('the rule is known', async () => {
      const id = await handOver.getAttribute('aria-describedby');
      return (await people.page.locator(`[id="${id}"]`).textContent())?.startsWith(
        'Only the representative owner',
      );
    });
    await people.page.close();

    // An admin may act in place of an owner who no longer can.
    const gone = await newVisitor(server, slug, 'Gerd Gone');
    const left = await done(gone.call('POST', `${base}/apps`, { name: 'Orphan' }));
    await admin(server, ['users', 'suspend', gone.id]);
    const orphan = await open(admins, `apps/${left.slug}/people`);
    expect(await reasonOf(orphan.page, 'Transfer')).toStartWith('Enter the e-mail address');
    await orphan.page.close();
  });

  test('a deleted app is in the list of deleted apps, and restored from its page', async () => {
    const app = await done(olga.call('POST', `${base}/apps`, { name: 'Left behind' }));
    await done(olga.call('DELETE', `${base}/apps/${app.id}`));
    const { page, complaints } = await open(owners, 'apps');
    await page.getByRole('radiogroup', { name: 'Which apps' }).getByText('Deleted').click();
    await page.getByRole('link', { name: 'Left behind' }).click();
    await page.getByRole('button', { name: 'Restore' }).click();
    await confirm(page, 'Restore Left behind', 'Restore');
    expect((await done(olga.call('GET', `${base}/apps/${app.id}`))).record).toBe('active');
    expect(complaints).toEqual([]);
    await page.close();
  });

  test('an admin who made the request sees that somebody else has to decide', async () => {
    const app = await newSite('Choir');
    await admin(server, ['members', 'set', '--tenant', slug, '--user', olga.email, '--role', 'tenant_admin']);
    const { id } = await ask(app, 'public');
    const { page } = await open(owners, `reviews/${id}`);
    expect(await reasonOf(page, 'Approve')).toBe('Someone other than the requester must decide this.');
    await page.close();
  });
});
