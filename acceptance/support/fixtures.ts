import { newWaitingApp, staticSource, uploadSource } from './apps.ts';
import { registerPasskey, totpCode } from './authenticator.ts';
import { admin } from './commands.ts';
import { queryDatabase, setApp } from './database.ts';
import type { Letter } from './document.ts';
import { newPageTemplate } from './git.ts';
import { done, newApp, newPerson, type Person, uniqueName } from './people.ts';
import { createDraft, newRelease, sendMissing } from './sites.ts';
import type { World } from './world.ts';

/** Path parameters; those whose names begin with `?` go into the query string. */
export type Params = Record<string, string>;

/** Creates what one call or command is about, and returns the parameters that name it. C is co-owner of every app. */
export type Fixture = (world: World, owner: Person, letter: Letter) => Params | Promise<Params>;

/** The body of the response to a POST below the tenant, which must succeed. */
export const post = ({ tenant }: World, by: Person, path: string, body?: unknown) =>
  done(by.call('POST', `${tenant.base}/${path}`, body));

const byAdmin =
  <Name extends string>(name: Name, path: string, body: (world: World) => object) =>
  async (world: World) => {
    const { id } = await post(world, world.people.A, path, await body(world));
    return { [name]: String(id) } as Record<Name, string>;
  };

export const connector = byAdmin('connectorID', 'connectors', () => ({
  name: uniqueName('connector'),
  kind: 'http',
}));
export const appConnector = byAdmin('connectorID', 'connectors', async (world) => ({
  name: uniqueName('connector'),
  kind: 'tables',
  app: (await privateApp(world, world.people.A)).app,
}));
export const preset = byAdmin('presetID', 'presets', () => ({
  name: uniqueName('preset'),
  actions: ['read'],
}));
export const policy = byAdmin('policyID', 'access-policies', () => ({ name: uniqueName('policy') }));
export const grant = byAdmin('grantID', 'grants', async (world) => ({
  subject_id: world.people.M.id,
  connector_id: (await connector(world)).connectorID,
  preset_id: 'reader',
}));
/** Of the owner, for a connector of its own. */
export async function grantRequest(world: World, owner: Person) {
  const { connectorID } = await connector(world);
  const body = { connector_id: connectorID, preset_id: 'reader', duration_seconds: 3600, reason: 'a test' };
  return { request: String((await post(world, owner, 'grant-requests', body)).id) };
}
export const newCategory = (world: World): Promise<{ id: string; slug: string }> =>
  post(world, world.people.A, 'categories', { name: uniqueName('category') });
export async function category(world: World) {
  const { id, slug } = await newCategory(world);
  return { categoryID: id, categorySlug: slug };
}
export async function group(world: World) {
  return { group: String((await post(world, world.people.A, 'groups', { name: uniqueName('group') })).id) };
}
export async function groupWithMember(world: World) {
  const made = await group(world);
  const user_id = world.people.M.id;
  await post(world, world.people.A, `groups/${made.group}/members`, { user_id });
  return { ...made, userID: user_id };
}
export const template = async ({ tenant }: World) => ({ template: await newPageTemplate(tenant) });

export async function pat(world: World, owner: Person) {
  return { patID: String((await post(world, owner, 'pats', { name: uniqueName('token') })).id) };
}

/** Set directly in the database: `svc-admin users set-password` would end the sessions. */
export async function password({ tenant, people }: World, owner: Person, letter: Letter) {
  const { id } = letter === 'X' ? people.X : owner;
  const chosen = 'violet anchor drum seven';
  const hash = await Bun.password.hash(chosen, { algorithm: 'argon2id', memoryCost: 8, timeCost: 1 });
  const text = 'update svc.users set password_hash = $2 where id = $1';
  await queryDatabase(tenant.server, text, [id, hash]);
  return { password: chosen };
}

export async function newPasskey(world: World, owner: Person, letter: Letter) {
  const { call } = letter === 'X' ? world.people.X : owner;
  const body = await password(world, owner, letter);
  const { options } = await done(call('POST', '/api/v1/me/factors/passkeys/start', body));
  return { response: JSON.stringify(registerPasskey(options, world.tenant.server.baseUrl)) };
}

export async function totpSetup(world: World, owner: Person, letter: Letter) {
  // A user has one setup at a time: that of a refused caller would replace the owner's.
  if (letter === 'N' || letter === 'P') return { code: '000000' };
  const { call } = letter === 'X' ? world.people.X : owner;
  const body = await password(world, owner, letter);
  const { secret } = await done(call('POST', '/api/v1/me/factors/totp/start', body));
  return { code: totpCode(secret) };
}

export async function factor(world: World, owner: Person) {
  const { response } = await newPasskey(world, owner, 'O');
  const body = { response: JSON.parse(response) };
  const { id } = await done(owner.call('POST', '/api/v1/me/factors/passkeys', body));
  return { factorID: String(id), ...(await password(world, owner, 'O')) };
}

/** A second session, beside the one that the person's calls use. */
export async function session({ tenant }: World, { id, call }: Person) {
  await admin(tenant.server, ['tokens', 'issue', '--user', id]);
  const { items } = await done(call('GET', '/api/v1/me/sessions'));
  return { sessionID: items.find((item: { current: boolean }) => !item.current).id as string };
}

export async function userOutsideTenant({ tenant, as, bystanders }: World) {
  await as.A('DELETE', `${tenant.base}/members/${bystanders.toAdd}`);
  return { userID: bystanders.toAdd };
}

export async function userInTenant({ tenant, as, bystanders }: World) {
  await done(as.A('PUT', `${tenant.base}/members/${bystanders.toRemove}`, { role: 'tenant_member' }));
  return { userID: bystanders.toRemove };
}

/** The person becomes co-owner of somebody else's app, which notifies them. */
export async function notification(world: World, person: Person) {
  const { O, C } = world.people;
  const { id } = await newApp(world.tenant, { owner: person.id === O.id ? C : O, coOwner: person });
  const { items } = await done(person.call('GET', `${world.tenant.base}/me/notifications?per_page=200`));
  return { notification: items.find((item: { app_id: string }) => item.app_id === id).id as string };
}

/** The private app of O and C that all tests of the world share; for calls that only read it. */
export const sharedApp = ({ app }: World) => ({ app: app.id });

export async function privateApp({ tenant, people }: World, owner: Person) {
  const { id, slug } = await newApp(tenant, { owner, coOwner: people.C });
  return { app: id, slug };
}

export type AppState = 'active' | 'running' | 'suspended' | 'archived' | 'deleted';

export const appIn = (state: AppState) => async (world: World, owner: Person) => {
  const params = await privateApp(world, owner);
  const { app } = params;
  if (state === 'running' || state === 'suspended')
    await setApp(world.tenant.server, app, { runtime: state, isDeployed: true });
  if (state === 'archived') await post(world, owner, `apps/${app}/archive`);
  if (state === 'deleted') await done(owner.call('DELETE', `${world.tenant.base}/apps/${app}`));
  return params;
};

/** M is its member; in a world of one person nobody is left to be invited, and the request may fail. */
export async function appWithMember(world: World, owner: Person) {
  const { app } = await privateApp(world, owner);
  const { id } = world.people.M;
  await owner.call('POST', `${world.tenant.base}/apps/${app}/members`, { user_id: id });
  return { app, userID: id };
}

/** Its owner lets admins inspect it. */
export async function appWithConsent(world: World, owner: Person) {
  const { app } = await privateApp(world, owner);
  const path = `${world.tenant.base}/apps/${app}/inspection-consent`;
  await done(owner.call('PUT', path, { granted: true }));
  return { app };
}

export async function appWithRawDb(world: World, owner: Person) {
  const { app } = await privateApp(world, owner);
  await post(world, owner, `apps/${app}/raw-db/enable`);
  return { app };
}

/** Its storage has one object, `a/b.txt`. */
export async function appWithObject(world: World, owner: Person) {
  const { app } = await privateApp(world, owner);
  await post(world, owner, `apps/${app}/storage/enable`);
  const object = { key: 'a/b.txt', content_type: 'text/plain' };
  const { put_url } = await post(world, owner, `apps/${app}/storage/upload-url`, object);
  const headers = { 'content-type': 'text/plain' };
  const stored = await fetch(put_url, { method: 'PUT', headers, body: 'text' });
  if (stored.status !== 201) throw new Error(`An object could not be stored: ${await stored.text()}`);
  return { app };
}

/** Below `.invalid`, which no DNS server knows. */
export const newHost = () => `www.${uniqueName('h')}.invalid`;

export async function domain(world: World, owner: Person) {
  const { app } = await privateApp(world, owner);
  const { id } = await post(world, owner, `apps/${app}/domains`, { host: newHost() });
  return { app, domain: id as string };
}

export const tableBody = { name: 'pets', columns: ['name:text', 'age:int:nullable'] };
export const tableGrantBody = {
  principal_type: 'role',
  principal_id: 'tenant_admin',
  actions: ['read'],
};

const kept = { changes: true, history: '30d', soft_delete: '30d' };
/** `pets`, with a unique index on `name`, a change feed, a history and a trash. */
export async function table(world: World, owner: Person) {
  const { app } = await privateApp(world, owner);
  const { id } = await post(world, owner, `apps/${app}/tables`, { ...tableBody, ...kept });
  await post(world, owner, `apps/${app}/tables/${id}/indexes`, { columns: ['name'], unique: true });
  return { app, table: id as string };
}

/** With a column of files. */
export async function fileTable(world: World, owner: Person) {
  const params = await table(world, owner);
  const column = { name: 'photo', type: 'file', nullable: true };
  await post(world, owner, `apps/${params.app}/tables/${params.table}/columns`, column);
  return params;
}

export async function tableGrant(world: World, owner: Person) {
  const params = await table(world, owner);
  const path = `apps/${params.app}/tables/${params.table}/grants`;
  return { ...params, grantID: (await post(world, owner, path, tableGrantBody)).id as string };
}

export const rowBody = () => ({ name: uniqueName('pet'), age: 3 });

export async function row(world: World, owner: Person) {
  const params = await table(world, owner);
  const path = `/data/${world.tenant.id}/${params.app}/${params.table}`;
  return { ...params, id: (await done(owner.call('POST', path, rowBody()))).id as string };
}

const page = { 'index.html': '<h1>Home</h1>' };

/** `stageable` is finalized, on a site that has staging; `superseded` was active before a newer one. */
export type ReleaseState = 'draft' | 'finalized' | 'active' | 'superseded' | 'stageable' | 'staged';

export const releaseIn = (state: ReleaseState) => async (world: World, owner: Person) => {
  const { app } = await privateApp(world, owner);
  const site = { owner, base: `${world.tenant.base}/apps/${app}/static` };
  if (state === 'draft') {
    const draft = await createDraft(site, page);
    await sendMissing(draft, page);
    return { app, release: draft.id };
  }
  if (state === 'stageable' || state === 'staged')
    await post(world, owner, `apps/${app}/static/site/staging/enable`);
  const isDeployed = state === 'active' || state === 'superseded';
  const { id } = await newRelease(site, page, { on_finalize: isDeployed ? 'deploy' : 'nothing' });
  if (state === 'superseded') await newRelease(site, { 'index.html': 'newer' }, { on_finalize: 'deploy' });
  if (state === 'staged') await post(world, owner, `apps/${app}/static/releases/${id}/stage`);
  return { app, release: id };
};

/** A co-owner of one app only, who decides nothing: each person may request few reviews per minute. */
async function newCoOwner(world: World, owner: Person, app: string): Promise<Person> {
  const { server, id: tenant } = world.tenant;
  const person = await newPerson(server, { tenant, role: 'tenant_member' });
  await post(world, owner, `apps/${app}/co-owners`, { user_id: person.id });
  return person;
}

export async function promotionRequest(world: World, owner: Person) {
  const params = await releaseIn('staged')(world, owner);
  const requester = await newCoOwner(world, owner, params.app);
  await post(world, requester, `apps/${params.app}/static/releases/${params.release}/promote-request`);
  return params;
}

export async function publicationRequest(world: World, owner: Person) {
  const { app } = await releaseIn('active')(world, owner);
  const requester = await newCoOwner(world, owner, app);
  const { id } = await post(world, requester, `apps/${app}/publication-requests`, { visibility: 'public' });
  return { app, request: id as string };
}

/** The URL of a site that everybody in the audience can open. */
export async function siteUrl(
  world: World,
  visibility: 'private' | 'invite_only' | 'public' | 'internet',
): Promise<string> {
  const { app, slug } = await privateApp(world, world.people.O);
  await setApp(world.tenant.server, app, { visibility, runtime: 'running', isDeployed: true });
  return `http://${slug}.apps.localhost:${world.tenant.server.port}/`;
}

/** An app with a superseded deployment, whose new deployments wait. */
export async function supersededDeployment(world: World, owner: Person) {
  const { id, earlier } = await newWaitingApp(world, owner);
  return { app: id, deployment: earlier };
}

/** An app with a live process, whose new deployments wait. */
export async function liveProcess(world: World, owner: Person) {
  const { id, earlier } = await newWaitingApp(world, owner);
  await queryDatabase(
    world.tenant.server,
    `with live as (update svc.deployments set state = 'live', method = 'docker', runtime = 'process', release_id = null
       where id = $2 returning id)
     update svc.apps set live_deployment_id = live.id from live where apps.id = $1`,
    [id, earlier],
  );
  return { app: id };
}

/** A request to publish an app that a deployment has built. */
export async function reviewedDeployment(world: World, owner: Person) {
  const { app } = await liveProcess(world, owner);
  const requester = await newCoOwner(world, owner, app);
  const { id } = await post(world, requester, `apps/${app}/publication-requests`, { visibility: 'public' });
  return { app, request: id as string };
}

export async function queuedDeployment(world: World, owner: Person) {
  const app = await newWaitingApp(world, owner);
  const upload_id = await uploadSource(app, staticSource());
  const { id } = await done(owner.call('POST', `${app.base}/deployments`, { upload_id }));
  return { app: app.id, deployment: id as string };
}

export async function appWithVariable(world: World, owner: Person) {
  const { id, base } = await newWaitingApp(world, owner);
  await done(owner.call('PATCH', `${base}/env`, { set: { GREETING: 'hello' } }));
  return { app: id };
}

/** The built-in git host creates a person's installation when it is first listed. */
