import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { describePatAction, patActions } from '@svc/contract/pat-actions.ts';
import type { BrowserContext, Page } from 'playwright-core';
import { hasChromium } from './support/chromium.ts';
import { admin } from './support/commands.ts';
import {
  browserOf,
  complaintsOf,
  reasonOf,
  violationsOf,
  waitUntilLoaded,
} from './support/console/browsing.ts';

import { newConsoleTenant, type Visitor } from './support/console/world.ts';
import { caller, done } from './support/people.ts';
import { type RunningServer, sharedEmbedded } from './support/server.ts';

describe.if(hasChromium)('tenant administration in the console', () => {
  let server: RunningServer;
  let slug: string;
  let base: string;
  let ada: Visitor;
  let olga: Visitor;
  let admins: BrowserContext;
  let owners: BrowserContext;
  beforeAll(async () => {
    server = await sharedEmbedded();
    ({ slug, base, admin: ada, member: olga } = await newConsoleTenant(server, 'Contoso'));
    [admins, owners] = await Promise.all([browserOf(server, ada), browserOf(server, olga)]);
  });
  afterAll(() => Promise.all([admins, owners].map((browser) => browser?.close())));

  async function open(browser: BrowserContext): Promise<{ page: Page; complaints: string[] }> {
    const page = await browser.newPage();
    return { page, complaints: complaintsOf(page) };
  }

  async function show(page: Page, path: string) {
    await page.goto(`${server.baseUrl}/t/${slug}/${path}`);
    await waitUntilLoaded(page);
  }

  const field = (page: Page, label: RegExp | string) =>
    page.locator('input:visible').and(page.getByLabel(label));

  async function choose(page: Page, label: RegExp, option: RegExp | string) {
    await field(page, label).click();
    await page.getByRole('option', { name: option }).click();
  }

  /** Confirms the preview. */
  async function confirm(page: Page, title: string, verb: string) {
    const dialog = page.getByRole('dialog', { name: title });
    await dialog.getByText('the following changes will be made').waitFor();
    await dialog.getByRole('button', { name: verb, exact: true }).click();
    await dialog.waitFor({ state: 'hidden' });
  }

  const list = async (path: string) => (await done(ada.call('GET', `${base}/${path}`))).items;

  test('an owner creates a service account, trusts a repository and gets a token for it', async () => {
    const { page, complaints } = await open(owners);
    const app = await done(olga.call('POST', `${base}/apps`, { name: 'Pet shop' }));
    await show(page, `apps/${app.slug}/people`);
    await page.getByText('No service accounts yet').waitFor();
    await page.getByRole('button', { name: 'New service account' }).click();
    await field(page, /^Name/).fill('ci');
    await page.getByLabel('tables', { exact: true }).check();
    await page.getByRole('button', { name: 'Create service account' }).click();
    await confirm(page, 'Create a service account', 'Create');
    const details = page.getByRole('group', { name: 'Service account ci' });
    await details.getByText(`SVC_SERVICE_ACCOUNT=${slug}/${app.slug}/ci`).waitFor();
    await field(page, 'Repository').fill('acme/pet-shop');
    await field(page, 'Branch').fill('main');
    await details.getByRole('button', { name: 'Trust' }).click();
    await confirm(page, 'Trust GitHub Actions', 'Trust');
    await details.getByText('ref = refs/heads/main, repository = acme/pet-shop').waitFor();
    await field(page, /^Name/).fill('nightly');
    await details.getByRole('button', { name: 'Create token' }).click();
    await confirm(page, 'Create a token', 'Create');
    await details.getByText(/^svcsat_[0-9A-Za-z]{36}$/).waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await details.getByRole('button', { name: 'I have saved it' }).click();
    await details.getByRole('button', { name: /^Revoke token nightly/ }).click();
    // It cannot be undone, so the name has to be typed.
    await page.getByRole('dialog', { name: 'Revoke a token' }).getByRole('textbox').fill('nightly');
    await confirm(page, 'Revoke a token', 'Revoke');
    await details.getByText('No tokens.').waitFor();
    const [account] = await list(`apps/${app.id}/service-accounts`);
    expect(account).toMatchObject({
      name: 'ci',
      actions: ['tables', 'deploy'],
      trust: [{ audience: server.baseUrl }],
    });
    expect(complaints).toEqual([]);
    await page.close();
  });

  test('an admin creates a group, adds a member, and grants access to the group', async () => {
    const { page, complaints } = await open(admins);
    await done(ada.call('POST', `${base}/connectors`, { name: 'Group store', kind: 'http' }));
    await show(page, 'admin/groups');
    await page.getByText('No groups yet').waitFor();
    await show(page, 'admin/groups/new');
    await field(page, /^Display name/).fill('Night shift');
    await page.getByRole('button', { name: 'Save group' }).click();
    await confirm(page, 'Create a group', 'Create');
    await page.getByRole('link', { name: 'Night shift' }).click();
    await choose(page, /^Member/, /Olga Owner/);
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await confirm(page, 'Add to the group', 'Add');
    await page.getByRole('row', { name: /Olga Owner/ }).waitFor();
    expect((await list('groups'))[0]).toMatchObject({ name: 'night-shift', member_count: 1 });
    expect(await violationsOf(page)).toEqual([]);

    await show(page, 'admin/grants/new');
    await choose(page, /^Given to/, 'a group');
    await choose(page, /^Subject/, 'Night shift');
    await choose(page, /^Connector/, 'Group store');
    await page.getByRole('button', { name: 'Grant access' }).click();
    await confirm(page, 'Grant access', 'Grant');
    await page.getByRole('link', { name: 'Group Night shift' }).waitFor();
    const mine = await done(olga.call('GET', `${base}/me/grants`));
    expect(mine).toMatchObject([{ subject_kind: 'group' }]);
    await done(ada.call('DELETE', `${base}/groups/night-shift`));
    await done(ada.call('DELETE', `${base}/connectors/group-store`));
    expect(complaints).toEqual([]);
    await page.close();
  });

  test('an admin adds a member, a category and a connector, each after its preview', async () => {
    const { page, complaints } = await open(admins);
    const { id: newcomer } = await admin(server, [
      'users',
      'create',
      `nina-${slug}@contoso.test`,
      '--name',
      'Nina New',
    ]);
    await show(page, 'admin/members/new');
    await field(page, /^User id/).fill(String(newcomer));
    await page.getByRole('button', { name: 'Add member' }).click();
    await confirm(page, 'Add a member', 'Add');
    await page.getByRole('row', { name: /Nina New/ }).waitFor();
    expect((await list('members?q=NINA')).map((one: { role: string }) => one.role)).toEqual([
      'tenant_member',
    ]);

    await choose(page, /^Role of Nina New/, 'admin');
    await confirm(page, 'Change a role', 'Change role');
    expect((await list('members?q=nina'))[0].role).toBe('tenant_admin');
    await page.getByLabel('Search').fill('olga');
    await page.getByRole('row', { name: /Nina New/ }).waitFor({ state: 'detached' });
    await page.getByRole('row', { name: /Olga Owner/ }).waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await page.getByRole('link', { name: 'Members', exact: true }).click();
    await page.getByRole('row', { name: /Nina New/ }).waitFor();
    expect(await page.getByLabel('Search').inputValue()).toBe('');
    await show(page, 'admin/members?page=999');
    await page.getByText('This page does not exist').waitFor();
    await page.getByRole('link', { name: 'Go to the first page' }).click();
    await page.getByRole('row', { name: /Nina New/ }).waitFor();

    await show(page, 'admin/categories/new');
    await field(page, /^Name/).fill('Field work');
    await field(page, /^Colour/).fill('#2f9e44');
    await page.getByRole('button', { name: 'Save category' }).click();
    await confirm(page, 'Create a category', 'Create');
    await page.getByRole('link', { name: 'Field work' }).waitFor();
    expect((await list('categories'))[0]).toMatchObject({ slug: 'field-work', color: '#2f9e44' });

    await show(page, 'admin/connectors/new');
    await page.getByLabel('PostgreSQL').check();
    await field(page, /^Name/).fill('Warehouse');
    await page.getByRole('button', { name: 'Save connector' }).click();
    await confirm(page, 'Register a connector', 'Register');
    await page.getByRole('link', { name: 'Warehouse' }).waitFor();
    expect((await list('connectors'))[0]).toMatchObject({ slug: 'warehouse', kind: 'postgres' });

    await show(page, 'admin/presets');
    const edit = page.getByRole('button', { name: 'Edit preset reader' });
    expect(await edit.getAttribute('aria-disabled')).toBe('true');
    expect(await reasonOf(edit)).toContain('Built-in presets');
    expect(complaints).toEqual([]);
    await page.close();
  });

  test('a policy with a nested row filter and a mask limits a grant, and cannot be deleted while the grant uses it', async () => {
    const { page, complaints } = await open(admins);
    await done(ada.call('POST', `${base}/connectors`, { name: 'Archive', kind: 'postgres' }));
    await show(page, 'admin/policies/new');
    await field(page, /^Name/).fill('Own region');
    await choose(page, /^Connector/, 'Archive');
    await page.getByRole('button', { name: 'Add condition to the filter' }).click();
    await field(page, 'Column of condition 1').fill('region');
    await field(page, 'Value of condition 1').fill('eu');
    await page.getByRole('button', { name: 'Add group to the filter' }).click();
    await field(page, 'Column of condition 2.1').fill('age');
    await choose(page, /^Operator of condition 2.1/, 'at least (gte)');
    await field(page, 'Value of condition 2.1').fill('18');
    await page.getByRole('button', { name: 'Add group to group 2' }).click();
    await field(page, 'Column of condition 2.2.1').fill('note');
    await field(page, 'Value of condition 2.2.1').fill('a,b & c');
    const text = 'region=eq.eu&or=(age.gte.18,and(note.eq."a,b %26 c"))';
    expect(await page.getByLabel('As text').inputValue()).toBe(text);
    await page.getByRole('button', { name: 'Add mask' }).click();
    await field(page, 'Column of mask 1').fill('email');
    await choose(page, /^Kind of mask 1/, /^partial/);
    expect(await violationsOf(page)).toEqual([]);
    await page.getByRole('button', { name: 'Save policy' }).click();
    await confirm(page, 'Create an access policy', 'Create');
    await page.getByRole('link', { name: 'Own region' }).waitFor();
    const [policy] = await list('access-policies');
    expect(policy).toMatchObject({
      name: 'Own region',
      row_filter: text,
      masks: [{ column: 'email', kind: 'partial', args: { first: 2, last: 2 } }],
    });

    await show(page, 'admin/grants/new');
    await field(page, /^Subject/).fill('olga');
    await page.getByRole('option', { name: /Olga Owner/ }).click();
    await choose(page, /^Connector/, 'Archive');
    await page.getByRole('textbox', { name: 'Scope' }).fill('sales/orders\nhr\nsales/orders');
    await page.getByText('2 of 200 entries; 1 duplicate ignored.').waitFor();
    await choose(page, /^Access policies/, 'Own region');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Grant access' }).click();
    await confirm(page, 'Grant access', 'Grant');
    await page.getByRole('link', { name: 'Olga Owner' }).click();
    await page.getByRole('button', { name: 'Replace scope' }).waitFor();
    const [grant] = await list('grants');
    expect(grant).toMatchObject({
      subject_id: olga.id,
      policy_ids: [policy.id],
      scope_resource_paths: ['sales/orders', 'hr'],
    });

    await show(page, 'admin/policies');
    await page.getByRole('button', { name: 'Delete policy Own region' }).click();
    await page.getByRole('alert').filter({ hasText: 'policy_in_use' }).waitFor();
    await page.getByRole('link', { name: 'Show the grants that use Own region' }).click();
    await page.getByText('One active grant uses it.', { exact: true }).waitFor();
    const remove = page.getByRole('button', { name: 'Delete policy' });
    expect(await remove.getAttribute('aria-disabled')).toBe('true');
    expect(await reasonOf(remove)).toContain('Revoke it first');

    await show(
      page,
      `admin/policies?subject=${olga.id}&connector=${grant.connector_id}&action=write&path=hr/people`,
    );
    await page.getByText('its preset does not allow the action').waitFor();
    await page.waitForFunction(() =>
      [...document.querySelectorAll('input')].some(({ value }) => value.startsWith('Olga Owner (')),
    );

    await show(page, 'admin/audit?action=policies.create');
    await page.getByRole('button', { name: /policies\.create policy Own region by ada-/ }).click();
    await page.getByRole('cell', { name: text }).waitFor();
    expect(await violationsOf(page)).toEqual([]);

    await show(page, `admin/grants/${grant.id}`);
    await page.getByRole('textbox', { name: 'Scope' }).fill('');
    await page.getByRole('button', { name: 'Replace scope' }).click();
    await confirm(page, 'Replace the scope', 'Replace scope');
    expect((await list('grants'))[0].scope_resource_paths).toEqual([]);
    // The browser logs the refused deletion as well.
    expect(complaints.filter((text) => !text.includes('409'))).toEqual([]);
    await page.close();
  });

  test('a member requests access from a link, an admin approves it with a policy, and the grant names who gave it', async () => {
    const name = 'Stock of the shops';
    const { id: connector_id, slug: connector } = await done(
      ada.call('POST', `${base}/connectors`, { name, kind: 'http' }),
    );
    const policy = await done(
      ada.call('POST', `${base}/access-policies`, { name: 'Own shop', connector_id }),
    );
    const { page, complaints } = await open(owners);
    await show(page, `grants/request?connector=${connector}&preset=reader&scope=sales/orders`);
    expect(await field(page, /^Connector/).inputValue()).toBe(name);
    await page.getByText('sales/orders', { exact: true }).waitFor();
    await page.getByLabel('Reason').fill('Monthly report');
    expect(await violationsOf(page)).toEqual([]);
    await page.getByRole('button', { name: 'Request access' }).click();
    await confirm(page, 'Request access', 'Request');
    await page.getByRole('heading', { name: `Access to ${name}` }).waitFor();

    const decider = await open(admins);
    await show(decider.page, 'grants/requests?view=to_decide');
    await decider.page.getByRole('link', { name }).click();
    await decider.page.getByRole('button', { name: 'Approve' }).click();
    const dialog = decider.page.getByRole('dialog', { name: 'Approve the request' });
    await dialog.getByText('Not attached: “Own shop”').waitFor();
    await decider.page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    await choose(decider.page, /^Access policies/, 'Own shop');
    await decider.page.keyboard.press('Escape');
    expect(await violationsOf(decider.page)).toEqual([]);
    await decider.page.getByRole('button', { name: 'Approve' }).click();
    await confirm(decider.page, 'Approve the request', 'Approve');
    await decider.page.getByText('approved', { exact: true }).waitFor();
    expect((await list('grants'))[0]).toMatchObject({ connector_id, policy_ids: [policy.id] });

    await show(page, 'grants');
    const card = page.getByRole('article').filter({ hasText: name });
    await card.getByText('Preset reader').waitFor();
    await card.getByText(/by Ada .*expires in/).waitFor();
    expect([...complaints, ...decider.complaints]).toEqual([]);
    await Promise.all([page.close(), decider.page.close()]);
  });

  test('a member sees who the admins are, and creates a token that reads and writes rows', async () => {
    const { page, complaints } = await open(owners);
    await show(page, 'admin/policies');
    await page.getByRole('heading', { name: 'Only tenant admins can open this page' }).waitFor();

    const app = await done(olga.call('POST', `${base}/apps`, { name: 'Pets' }));
    const columns = [{ name: 'name', type: 'text' }];
    await done(olga.call('POST', `${base}/apps/${app.id}/tables`, { name: 'pets', columns }));
    await show(page, 'tokens?new=1');
    await field(page, /^Name/).fill('robot');
    await choose(page, /^Apps/, 'Pets');
    await page.keyboard.press('Escape');
    for (const action of patActions) await page.getByText(describePatAction(action)).waitFor();
    await page.getByLabel('write', { exact: true }).check();
    await field(page, /^Days until/).fill('400');
    await page.getByText('must be 1 to 365').waitFor();
    await field(page, /^Days until/).fill('30');
    await page.getByRole('button', { name: 'Create token' }).click();
    await confirm(page, 'Create a token', 'Create');
    const dialog = page.getByRole('dialog', { name: 'Your new token' });
    const secret = (await dialog.locator('pre').textContent()) ?? '';
    expect(secret).toMatch(/^svcpat_\w{36}$/);
    expect(await violationsOf(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'I have saved it' }).click();
    const robot = caller(server, { 'x-api-key': secret });
    const rows = `/data/${slug}/${app.slug}/pets`;
    expect((await robot('POST', rows, { name: 'Rex' })).status).toBe(201);
    expect((await robot('GET', rows)).body.data).toMatchObject([{ name: 'Rex' }]);

    await page.getByRole('button', { name: /^Revoke token robot/ }).click();
    const revoke = page.getByRole('dialog', { name: 'Revoke a token' });
    await revoke.getByLabel(/to confirm/).fill('robot');
    await confirm(page, 'Revoke a token', 'Revoke');
    expect((await robot('GET', rows)).status).toBe(401);
    const over = page.getByRole('button', { name: /^Revoke token robot/ });
    await page.getByRole('cell', { name: 'revoked', exact: true }).waitFor();
    expect(await over.getAttribute('aria-disabled')).toBe('true');

    await show(page, 'sessions');
    await page.getByRole('row', { name: /this session/ }).waitFor();
    expect(complaints).toEqual([]);
    await page.close();
  });
});
