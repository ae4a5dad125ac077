import { admin } from './commands.ts';
import type { Letter, Operation } from './document.ts';
import type { Answered, Call, Person } from './people.ts';
import { appLifeReach } from './reach/app-life.ts';
import { appMetricsReach } from './reach/app-metrics.ts';
import { appReach } from './reach/apps.ts';
import { bootstrapReach } from './reach/bootstraps.ts';
import { categoryReach } from './reach/categories.ts';
import { deploymentReach } from './reach/deployments.ts';
import { domainReach } from './reach/domains.ts';
import { gitReach } from './reach/git.ts';
import { iconReach } from './reach/icons.ts';
import { notificationReach } from './reach/notifications.ts';
import { ownerReach } from './reach/owners.ts';
import { publicationReach } from './reach/publications.ts';
import { rawDbReach } from './reach/raw-db.ts';
import { staticSiteReach } from './reach/static-sites.ts';
import { storageReach } from './reach/storage.ts';
import { tenantReach } from './reach/tenants.ts';
import { visitorReach } from './reach/visitors.ts';
import { newApp, type World } from './world.ts';

/** What a call needs to get past every check but the one of who may. */
export interface Reached {
  params: Record<string, string>;
  body?: unknown;
}

type Reach = (world: World, letter: Letter) => Promise<Reached> | Reached;

const inTenant: Reach = (world) => ({ params: { tenantID: world.tenant.id } });

/**
 * How each operation is reached, by the id it has in the OpenAPI document. Each call makes what it needs anew, so
 * that one that succeeds takes nothing away from the next.
 */
export const reach: Readonly<Record<string, Reach>> = {
  ...appMetricsReach,
  'me.get': () => ({ params: {} }),
  'sessions.list': () => ({ params: {} }),
  'sessions.revoke': async (world, letter) => ({ params: { sessionID: await spareSession(world, letter) } }),
  'tenants.list': () => ({ params: {} }),
  'tenants.get': inTenant,
  'members.list': inTenant,
  'members.set': async (world) => ({
    ...one(world, 'userID', await bystanderOutside(world)),
    body: { role: 'tenant_member' },
  }),
  'members.remove': async (world) => one(world, 'userID', await bystanderInside(world)),
  'audit.list': inTenant,
  'pats.list': inTenant,
  'pats.create': (world) => ({ ...whole(world), body: { name: unique('token') } }),
  'pats.revoke': async (world, letter) => {
    const { id } = await make(world, 'pats', { name: unique('token') }, world.ownerFor(letter).call);
    return { params: { tenantID: world.tenant.id, patID: id } };
  },
  'connectors.list': inTenant,
  'connectors.create': (world) => ({ ...whole(world), body: connector() }),
  'connectors.get': async (world) => one(world, 'connectorID', await newConnector(world)),
  'connectors.update': async (world) => ({
    ...one(world, 'connectorID', await newConnector(world)),
    body: { description: 'changed' },
  }),
  'connectors.delete': async (world) => one(world, 'connectorID', await newConnector(world)),
  'presets.list': inTenant,
  'presets.create': (world) => ({ ...whole(world), body: preset() }),
  'presets.get': async (world) => one(world, 'presetID', await newPreset(world)),
  'presets.update': async (world) => ({
    ...one(world, 'presetID', await newPreset(world)),
    body: { actions: ['read', 'export'] },
  }),
  'presets.delete': async (world) => one(world, 'presetID', await newPreset(world)),
  'grants.mine': inTenant,
  'grants.terms': inTenant,
  'grants.list': inTenant,
  'grants.create': async (world) => ({ ...whole(world), body: await grant(world) }),
  'grants.get': async (world) => one(world, 'grantID', await newGrant(world)),
  'grants.replaceScope': async (world) => ({
    ...one(world, 'grantID', await newGrant(world)),
    body: ['sales', 'hr/people'],
  }),
  'grants.revoke': async (world) => ({
    ...one(world, 'grantID', await newGrant(world)),
    body: { reason: 'over' },
  }),
  'access.check': async (world, letter) => ({
    ...whole(world),
    body: {
      subject_id: world.ownerFor(letter).id,
      connector_id: await newConnector(world),
      action: 'read',
    },
  }),
  'policies.list': inTenant,
  'policies.create': (world) => ({ ...whole(world), body: policy() }),
  'policies.get': async (world) => one(world, 'policyID', await newPolicy(world)),
  'policies.replace': async (world) => ({
    ...one(world, 'policyID', await newPolicy(world)),
    body: { ...policy(), row_filter: 'region=eq.eu' },
  }),
  'policies.update': async (world) => ({
    ...one(world, 'policyID', await newPolicy(world)),
    body: { enabled: false },
  }),
  'policies.delete': async (world) => one(world, 'policyID', await newPolicy(world)),
  'apps.get': (world) => inApp(world),
  'apps.openapi': (world) => inApp(world),
  'coOwners.list': (world) => inApp(world),
  'coOwners.add': async (world) => ({
    ...inApp(world, await spareApp(world)),
    body: { user_id: world.people.M.id },
  }),
  // The co-owner is the one to be removed: by themself, that is about oneself.
  'coOwners.remove': async (world) => {
    const { params } = inApp(world, await spareApp(world));
    return { params: { ...params, userID: world.people.C.id } };
  },
  'tables.list': (world) => inApp(world),
  'tables.create': async (world) => ({ ...inApp(world, await spareApp(world)), body: table() }),
  'tables.get': (world) => inTable(world),
  'tables.update': async (world) => ({ ...(await inTable(world)), body: { description: 'changed' } }),
  'tables.drop': (world) => inTable(world),
  'columns.add': async (world) => ({
    ...(await inTable(world)),
    body: { name: 'colour', type: 'text', nullable: true },
  }),
  'columns.update': async (world) => ({
    ...(await inTable(world, { column: 'age' })),
    body: { default: '3' },
  }),
  'columns.drop': (world) => inTable(world, { column: 'age' }),
  'indexes.list': (world) => inTable(world),
  'indexes.add': async (world) => ({ ...(await inTable(world)), body: { columns: ['age'] } }),
  'indexes.drop': (world) => inTable(world, { index: 'name_key' }),
  'tableGrants.list': (world) => inTable(world),
  'tableGrants.issue': async (world) => ({ ...(await inTable(world)), body: tableGrant }),
  'tableGrants.revoke': async (world) => {
    const { app, table } = await newTable(world, world.people.O);
    const { body } = succeeded(
      await world.as.O('POST', `${tablesOf(world, app)}/${table}/grants`, tableGrant),
    );
    return { params: { tenantID: world.tenant.id, app, table, grantID: body.id } };
  },
  ...appReach,
  ...appLifeReach,
  ...bootstrapReach,
  ...categoryReach,
  ...notificationReach,
  ...ownerReach,
  ...publicationReach,
  ...rawDbReach,
  ...storageReach,
  ...tenantReach,
  ...domainReach,
  ...gitReach,
  ...deploymentReach,
  ...staticSiteReach,
  ...visitorReach,
  ...iconReach,
  'rows.list': (world) => inRows(world),
  'rows.count': (world) => inRows(world),
  'rows.get': (world) => inRow(world),
  'rows.insert': async (world) => ({ ...(await inRows(world)), body: row() }),
  'rows.update': async (world) => ({ ...(await inRow(world)), body: { age: 4 } }),
  'rows.delete': (world) => inRow(world),
};

/** What somebody of another tenant is told; by the spec it is 403 where permission grants are concerned. */
export function outsiderAnswer(operation: Operation): { status: number; code: string } {
  const noun = operation.id.split('.')[0]!;
  return ['grants', 'policies', 'connectors', 'presets', 'access'].includes(noun)
    ? { status: 403, code: 'forbidden' }
    : { status: 404, code: 'not_found' };
}

export const newConnector = (world: World) => made(world, 'connectors', connector());
export const newPreset = (world: World) => made(world, 'presets', preset());
export const newPolicy = (world: World) => made(world, 'access-policies', policy());
export const newGrant = async (world: World) => made(world, 'grants', await grant(world));

/** A private app of O's with C as co-owner, for calls that change it. */
export const spareApp = async (world: World) =>
  (await newApp(world.tenant, { owner: world.people.O, coOwner: world.people.C })).id;

/** A private app of the admin's own, for commands, which the admin runs. */
export const adminsApp = async (world: World) =>
  (await newApp(world.tenant, { owner: world.people.A, coOwner: world.people.C })).id;

/** A table with an index in a private app of its own, whose owner is O, or the admin for commands. */
export async function newTable(world: World, owner: Person): Promise<{ app: string; table: string }> {
  const { id: app } = await newApp(world.tenant, { owner, coOwner: world.people.C });
  const tables = tablesOf(world, app);
  const { body } = succeeded(await owner.call('POST', tables, table()));
  succeeded(await owner.call('POST', `${tables}/${body.id}/indexes`, { columns: ['name'], unique: true }));
  return { app, table: body.id };
}

export const tablesOf = ({ tenant }: World, app: string) => `${tenant.base}/apps/${app}/tables`;
export const tableGrant = { principal_type: 'role', principal_id: 'tenant_admin', actions: ['read'] };

/** A user who is not in the tenant. */
export async function bystanderOutside({ tenant, as, bystanders }: World): Promise<string> {
  await as.A('DELETE', `${tenant.base}/members/${bystanders.toAdd}`);
  return bystanders.toAdd;
}

/** A user who is a member of it. */
export async function bystanderInside({ tenant, as, bystanders }: World): Promise<string> {
  succeeded(await as.A('PUT', `${tenant.base}/members/${bystanders.toRemove}`, { role: 'tenant_member' }));
  return bystanders.toRemove;
}

/** A sign-in beside the one that the person's calls use. */
export async function spareSession(world: World, letter: Letter): Promise<string> {
  const { id, call } = world.ownerFor(letter);
  await admin(world.tenant.server, ['tokens', 'issue', '--user', id]);
  const sessions = succeeded(await call('GET', '/api/v1/me/sessions')).body.items;
  return sessions.find((session: { current: boolean }) => !session.current).id;
}

const unique = (word: string) => `${word}-${Bun.randomUUIDv7().replaceAll('-', '').slice(-20)}`;
const connector = () => ({ name: unique('connector'), kind: 'http' });
const preset = () => ({ name: unique('preset'), actions: ['read'] });
const policy = () => ({ name: unique('policy') });
const grant = async (world: World) => ({
  subject_id: world.people.M.id,
  connector_id: await newConnector(world),
  preset_id: 'reader',
});

const whole = (world: World) => ({ params: { tenantID: world.tenant.id } });
const inApp = ({ tenant, app }: World, id = app.id) => ({ params: { tenantID: tenant.id, app: id } });
const table = () => ({ name: 'pets', columns: ['name:text', 'age:int:nullable'] });
const inTable = async (world: World, below: Record<string, string> = {}) => ({
  params: { tenantID: world.tenant.id, ...(await newTable(world, world.people.O)), ...below },
});
const row = () => ({ name: unique('pet'), age: 3 });
const inRows = async (world: World) => ({
  params: { tenant: world.tenant.id, ...(await newTable(world, world.people.O)) },
});
const inRow = async (world: World) => {
  const { params } = await inRows(world);
  const path = `/data/${params.tenant}/${params.app}/${params.table}`;
  return { params: { ...params, id: succeeded(await world.as.O('POST', path, row())).body.id as string } };
};
const one = (world: World, name: string, id: string) => ({
  params: { tenantID: world.tenant.id, [name]: id },
});

async function made(world: World, collection: string, body: unknown): Promise<string> {
  return (await make(world, collection, body, world.as.A)).id;
}

async function make(world: World, collection: string, body: unknown, call: Call): Promise<{ id: string }> {
  return succeeded(await call('POST', `${world.tenant.base}/${collection}`, body)).body;
}

function succeeded(answer: Answered): Answered {
  if (answer.status >= 300)
    throw new Error(`Preparing it answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  return answer;
}
