import { newWaitingApp, staticSource, uploadSource } from './apps.ts';
import { registerPasskey, totpCode } from './authenticator.ts';
import { admin } from './commands.ts';
import { queryDatabase, setApp } from './database.ts';
import type { Letter } from './document.ts';
import { newPageTemplate } from './git.ts';
import { done, newApp, newMember, type Person, uniqueName } from './people.ts';
import { createDraft, newRelease, sendMissing } from './sites.ts';
import type { World } from './world.ts';

/** Path parameters; those whose names begin with `?` go into the query string. */
export type Params = Record<string, string>;

/** Creates what one call or command is about, and returns the parameters that name it. C is co-owner of every app. */
export type Fixture = (world: World, owner: Person, letter: Letter) => Params | Promise<Params>;

/** The body of the response to a POST below the tenant, which must succeed. */
export const post = ({ tenant }: World, by: Person, path: string, body?: unknown) =>
  done(by.call('POST', `${tenant.base}/${path}`, body));

type Body = object | ((world: World) => object | Promise<object>);
type Maker<P> = (world: World, owner: Person) => P | Promise<P>;

/**
 * What `first` creates, and what a POST below the tenant adds to it. The path contains parameters as `{app}`; `name` is the
 * parameter for the id of the new record.
 */
const adding =
  <P extends Params, Name extends string = never>(first: Maker<P>, path: string, body?: Body, name?: Name) =>
  async (world: World, owner: Person): Promise<P & Record<Name, string>> => {
    const params = await first(world, owner);
    const filled = path.replace(/\{(\w+)\}/g, (_, parameter: string) => params[parameter]!);
    const created = await post(world, owner, filled, typeof body === 'function' ? await body(world) : body);
    return { ...params, ...(name && { [name]: String(created.id) }) } as P & Record<Name, string>;
  };
const own = <Name extends string>(name: Name, path: string, body: Body) =>
  adding((): Params => ({}), path, body, name);
const byAdmin = <Name extends string>(name: Name, path: string, body: Body) => {
  const create = own(name, path, body);
  return (world: World) => create(world, world.people.A);
};

const connectorBody = () => ({ name: uniqueName('connector'), kind: 'http' });
export const connector = byAdmin('connectorID', 'connectors', connectorBody);
export const appConnector = byAdmin('connectorID', 'connectors', async (world) => ({
  name: uniqueName('connector'),
  kind: 'tables',
  app: (await privateApp(world, world.people.A)).app,
}));
const presetBody = () => ({ name: uniqueName('preset'), actions: ['read'] });
export const preset = byAdmin('presetID', 'presets', presetBody);
export const policy = byAdmin('policyID', 'access-policies', () => ({ name: uniqueName('policy') }));
export const grantBody = ({ people }: World, connector_id: string) => ({
  subject_id: people.M.id,
  connector_id,
  preset_id: 'reader',
});
export const grant = byAdmin('grantID', 'grants', async (world) =>
  grantBody(world, (await connector(world)).connectorID),
);
export const requestBody = (connectorID: string) => ({
  connector_id: connectorID,
  preset_id: 'reader',
  duration_seconds: 3600,
  reason: 'a test',
});
/** Of the owner, for a connector of its own. */
export const grantRequest = own('request', 'grant-requests', async (world) =>
  requestBody((await connector(world)).connectorID),
);
export const newCategory = (world: World): Promise<{ id: string; slug: string }> =>
  post(world, world.people.A, 'categories', { name: uniqueName('category') });
export async function category(world: World) {
  const { id, slug } = await newCategory(world);
  return { categoryID: id, categorySlug: slug };
}
export const group = byAdmin('group', 'groups', () => ({ name: uniqueName('group') }));
export async function groupWithMember(world: World) {
  const userID = world.people.M.id;
  const add = adding(group, 'groups/{group}/members', { user_id: userID });
  return { ...(await add(world, world.people.A)), userID };
}
export const template = async ({ tenant }: World) => ({ template: await newPageTemplate(tenant) });

export const pat = own('patID', 'pats', () => ({ name: uniqueName('token') }));

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
    await setApp(world.tenant.server, app, { runtime: state, is_deployed: true });
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

export const appWithRawDb = adding(privateApp, 'apps/{app}/raw-db/enable');

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

export const domain = adding(privateApp, 'apps/{app}/domains', () => ({ host: newHost() }), 'domain');

export const trustRuleBody = {
  issuer: 'https://token.actions.githubusercontent.com',
  claims: { repository: 'acme/shop' },
};
const accountBody = () => ({ name: uniqueName('ci'), actions: ['tables', 'deploy'] });
export const serviceAccount = adding(privateApp, 'apps/{app}/service-accounts', accountBody, 'account');
const accountPath = 'apps/{app}/service-accounts/{account}';
const tokenBody = () => ({ name: uniqueName('token') });
export const serviceToken = adding(serviceAccount, `${accountPath}/tokens`, tokenBody, 'tokenID');
export async function trustRule(world: World, owner: Person) {
  const made = await serviceAccount(world, owner);
  const path = `apps/${made.app}/service-accounts/${made.account}/trust`;
  const { trust } = await post(world, owner, path, trustRuleBody);
  return { ...made, ruleID: String(trust[0].id) };
}

export const tableBody = { name: 'pets', columns: ['name:text', 'age:int:nullable'] };
export const tableGrantBody = { principal_type: 'role', principal_id: 'tenant_admin', actions: ['read'] };

const kept = { changes: true, history: '30d', soft_delete: '30d' };
const tablePath = 'apps/{app}/tables/{table}';
const petsTable = adding(privateApp, 'apps/{app}/tables', { ...tableBody, ...kept }, 'table');
/** `pets`, with a unique index on `name`, a change feed, a history and a trash. */
export const table = adding(petsTable, `${tablePath}/indexes`, { columns: ['name'], unique: true });
export const fileTable = adding(table, `${tablePath}/columns`, {
  name: 'photo',
  type: 'file',
  nullable: true,
});
export const tableGrant = adding(table, `${tablePath}/grants`, tableGrantBody, 'grantID');

export const releaseBody = { files: [{ path: 'index.html', sha256: 'a'.repeat(64), size: 1 }] };

export const rowBody = () => ({ name: uniqueName('pet'), age: 3 });

export async function row(world: World, owner: Person) {
  const params = await table(world, owner);
  const path = `/data/${world.tenant.id}/${params.app}/${params.table}`;
  return { ...params, id: (await done(owner.call('POST', path, rowBody()))).id as string };
}

export async function deletedRow(world: World, owner: Person) {
  const params = await row(world, owner);
  const path = `/data/${world.tenant.id}/${params.app}/${params.table}/${params.id}`;
  const { headers } = await owner.call('DELETE', path);
  return { ...params, requestID: headers.get('x-request-id') as string };
}

export async function rowWithFile(world: World, owner: Person) {
  const params = await fileTable(world, owner);
  const path = `/data/${world.tenant.id}/${params.app}/${params.table}`;
  const announced = { column: 'photo', name: 'rex.png', type: 'image/png', size: 3 };
  const { file, put_url, headers } = (await owner.call('POST', `${path}/_files`, announced)).body;
  await fetch(put_url, { method: 'PUT', headers, body: 'abc' });
  const { id } = (await owner.call('POST', path, { ...rowBody(), photo: file })).body;
  return { ...params, id: id as string };
}

const inviteOnly = async ({ tenant }: World, app: string) => {
  await done(tenant.admin.call('PATCH', tenant.base, { access_requests: true }));
  await setApp(tenant.server, app, { visibility: 'invite_only' });
};

/** Nobody of the world has a role in it, and its tenant takes requests for access. */
export async function foreignInviteOnlyApp(world: World) {
  const { id } = await newApp(world.tenant, { owner: await newMember(world.tenant) });
  await inviteOnly(world, id);
  return { app: id };
}

/** A new member asks for access to an app of `owner`: the number of requests per person is limited. */
export async function accessRequest(world: World, owner: Person) {
  const { app } = await privateApp(world, owner);
  await inviteOnly(world, app);
  const { id } = await post(world, await newMember(world.tenant), 'access-requests', { app });
  return { app, request: id as string };
}

export async function appWithRole(world: World, owner: Person) {
  const user = world.people.M.id;
  const params = await adding(privateApp, 'apps/{app}/roles', { role: 'manager', user })(world, owner);
  return { ...params, role: 'manager', userID: user };
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
  const person = await newMember(world.tenant);
  await post(world, owner, `apps/${app}/co-owners`, { user_id: person.id });
  return person;
}

export async function promotionRequest(world: World, owner: Person) {
  const params = await releaseIn('staged')(world, owner);
  const requester = await newCoOwner(world, owner, params.app);
  await post(world, requester, `apps/${params.app}/static/releases/${params.release}/promote-request`);
  return params;
}

const publicationOf = (first: Maker<{ app: string }>) => async (world: World, owner: Person) => {
  const { app } = await first(world, owner);
  const requester = await newCoOwner(world, owner, app);
  const { id } = await post(world, requester, `apps/${app}/publication-requests`, { visibility: 'public' });
  return { app, request: id as string };
};
export const publicationRequest = publicationOf(releaseIn('active'));

/** The URL of a site that everybody in the audience can open. */
export async function siteUrl(
  world: World,
  visibility: 'private' | 'invite_only' | 'public' | 'internet',
): Promise<string> {
  const { app, slug } = await privateApp(world, world.people.O);
  await setApp(world.tenant.server, app, { visibility, runtime: 'running', is_deployed: true });
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
export const reviewedDeployment = publicationOf(liveProcess);

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
