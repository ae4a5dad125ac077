import { admin } from './commands.ts';
import type { Letter, Operation } from './document.ts';
import type { Answered, Call } from './people.ts';
import type { World } from './world.ts';

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
