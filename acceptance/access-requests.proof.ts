import { expect, test } from 'bun:test';
import { TestBrowser } from '../server/src/identity/provider/browser-testing.ts';
import { hasChromium } from './support/chromium.ts';
import { svcFor } from './support/commands.ts';
import { browserOf, violationsOf } from './support/console/browsing.ts';
import { queryDatabase, setApp } from './support/database.ts';
import {
  done,
  newApp,
  newPasswordUser,
  newTenant,
  type Person,
  type Tenant,
  withToken,
} from './support/people.ts';
import { sharedServer } from './support/server.ts';

/** A member who is also signed in with a browser. */
async function newVisitor({ server, slug }: Pick<Tenant, 'server' | 'slug'>) {
  const user = await newPasswordUser(server, slug);
  const browser = new TestBrowser(server.baseUrl);
  const page = await browser.open('/login');
  await browser.press(page, 'Sign in', { email: user.email, password: user.password });
  return { ...(await withToken(server, user)), cookie: `svc_session=${browser.cookie('svc_session')}` };
}
type Visitor = Awaited<ReturnType<typeof newVisitor>>;

async function newWorld({ isAllowed = true } = {}) {
  const server = await sharedServer();
  const tenant = await newTenant(server);
  if (isAllowed) await done(tenant.admin.call('PATCH', tenant.base, { access_requests: true }));
  const [owner, visitor] = await Promise.all([newVisitor(tenant), newVisitor(tenant)]);
  const app = await newApp(tenant, { owner });
  await setApp(server, app.id, { visibility: 'invite_only', runtime: 'running', is_deployed: true });
  const svc = (person: Pick<Person, 'token'>) => svcFor(server, { token: person.token, tenant: tenant.slug });
  /** What a signed-in browser gets on its way to a host. */
  const visit = async ({ cookie }: Visitor, label: string) => {
    const target = `http://${label}.apps.localhost:${server.port}/`;
    const query = new URLSearchParams({ target, state: 'a'.repeat(43) });
    const response = await fetch(`${server.baseUrl}/site-auth?${query}`, {
      headers: { cookie },
      redirect: 'manual',
    });
    const text = (await response.text()).replace(/Request <code>.*<\/code>/, '');
    return { status: response.status, text, link: /href="([^"]*request-access[^"]*)"/.exec(text)?.[1] };
  };
  return { server, tenant, owner, visitor, app, svc, visit };
}

test('a member of the tenant asks for access, the owner accepts, and the app opens', async () => {
  const { tenant, owner, visitor, app, svc, visit } = await newWorld();
  const page = await visit(visitor, app.subdomain);
  expect([page.status, page.link]).toEqual([403, `/t/${tenant.slug}/request-access/${app.slug}`]);
  expect(page.text).not.toContain(app.id);

  const ask = ['apps', 'request-access', app.slug, '--note', 'I sell the food', '--execute', '--json'];
  const asked = await svc(visitor)(ask);
  expect([asked.code, asked.json<object>()]).toMatchObject([0, { status: 'pending', user_id: visitor.id }]);
  expect((await svc(visitor)(ask)).json<object>()).toMatchObject({ changed: false });
  const { items: told } = await done(owner.call('GET', `${tenant.base}/me/notifications`));
  expect(told[0]).toMatchObject({
    kind: 'app_access_requested',
    path: `/t/${tenant.slug}/apps/${app.slug}/people`,
  });
  expect(told[0].text).toContain('I sell the food');

  const listed = await svc(owner)(['apps', 'access-requests', 'list', '--app', app.slug, '--json']);
  const [{ id }] = listed.json<{ items: [{ id: string }] }>().items;
  const accept = ['apps', 'access-requests', 'accept', id, '--app', app.slug];
  expect((await svc(owner)(accept)).stdout).toContain('pending');
  expect((await visit(visitor, app.subdomain)).status).toBe(403);
  expect((await svc(owner)([...accept, '--execute'])).code).toBe(0);
  expect((await visit(visitor, app.subdomain)).status).toBe(303);
  const { items: heard } = await done(visitor.call('GET', `${tenant.base}/me/notifications`));
  expect(heard[0]).toMatchObject({ kind: 'app_access_accepted' });
  expect(
    (await svc(owner)(['apps', 'access-requests', 'refuse', id, '--app', app.slug, '--execute'])).code,
  ).toBe(6);
  expect((await svc(visitor)(ask)).code).toBe(6);
});

test('a refused request can be repeated after a week', async () => {
  const { server, tenant, owner, visitor, app } = await newWorld();
  const base = `${tenant.base}/apps/${app.id}/access-requests`;
  const ask = () => visitor.call('POST', `${tenant.base}/access-requests`, { app: app.id });
  const { id } = await done(ask());
  expect(await done(owner.call('POST', `${base}/${id}/refuse`))).toMatchObject({ status: 'refused' });
  const again = await ask();
  expect([again.status, again.body.code]).toEqual([409, 'settled']);
  await queryDatabase(
    server,
    "update svc.access_requests set decided_at = decided_at - interval '8 days' where id = $1",
    [id],
  );
  expect((await ask()).status).toBe(201);
});

test('nobody learns of an app that is private, of another tenant, or of a tenant that allows no requests', async () => {
  const { server, tenant, visitor, app, visit } = await newWorld();
  const otherTenant = await newTenant(server);
  const outsider = await newVisitor(otherTenant);
  const closed = await newWorld({ isAllowed: false });
  const nothing = await visit(visitor, 'no-such-app');
  expect(nothing.status).toBe(404);
  const ask = async (person: Pick<Person, 'call'>, base: string, id: string) =>
    (await person.call('POST', `${base}/access-requests`, { app: id })).status;

  expect(await visit(outsider, app.subdomain)).toEqual(nothing);
  expect(await ask(outsider, otherTenant.base, app.id)).toBe(404);
  expect(await visit(closed.visitor, closed.app.subdomain)).toEqual(nothing);
  expect(await ask(closed.visitor, closed.tenant.base, closed.app.id)).toBe(404);
  expect(await visit(visitor, `${app.subdomain}--staging`)).toEqual(nothing);
  await setApp(server, app.id, { visibility: 'private' });
  expect(await visit(visitor, app.subdomain)).toEqual(nothing);
  expect(await ask(visitor, tenant.base, app.id)).toBe(404);
});

test.if(hasChromium)(
  'the page of the app leads to the request, and the owner decides in the console',
  async () => {
    const { server, tenant, owner, visitor, app, visit } = await newWorld();
    const [theirs, ours] = [await browserOf(server, visitor), await browserOf(server, owner)];
    try {
      const page = await theirs.newPage();
      await page.goto(`http://${app.subdomain}.apps.localhost:${server.port}/`);
      await page.getByRole('link', { name: 'Request access' }).click();
      await page.getByLabel('Message to the owners').fill('I sell the food');
      expect(await violationsOf(page)).toEqual([]);
      await page.getByRole('button', { name: 'Request access' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Request access' }).click();
      await page.getByText('The owners are notified').waitFor();

      const people = await ours.newPage();
      await people.goto(`${server.baseUrl}/t/${tenant.slug}/apps/${app.slug}/people`);
      await people.getByText('I sell the food').waitFor();
      expect(await violationsOf(people)).toEqual([]);
      await people.getByRole('button', { name: /^Accept / }).click();
      await people.getByRole('dialog').getByRole('button', { name: 'Accept' }).click();
      await people.getByText('The person is invited and notified.').waitFor();
      expect((await visit(visitor, app.subdomain)).status).toBe(303);
    } finally {
      await Promise.all([theirs.close(), ours.close()]);
    }
  },
);
