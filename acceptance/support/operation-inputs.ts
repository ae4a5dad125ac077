import { staticSource, uploadSource } from './apps.ts';
import * as delivery from './delivery-fixtures.ts';
import type { Letter } from './document.ts';
import type { Fixture, Params } from './fixtures.ts';
import * as fixtures from './fixtures.ts';
import { type Person, uniqueName } from './people.ts';
import type { World } from './world.ts';

/** What a call needs to pass every check but the authorization. */
export interface CallInput {
  params: Params;
  body?: unknown;
}

type Body = object | ((params: Params, world: World, owner: Person) => unknown);

interface OperationInput {
  fixture: Fixture;
  body?: Body;
  /** Whose records the call is about: O's, the same for every caller or new for each, or the caller's own. */
  owner: 'O' | 'O, for each caller' | 'caller';
}

const nothing: Fixture = () => ({});
/** Records of O. */
const of = (fixture: Fixture, body?: Body): OperationInput => ({ fixture, body, owner: 'O' });
const inTenant = (body?: Body) => of(nothing, body);
const forEach = (fixture: Fixture, body?: Body): OperationInput => ({
  fixture,
  body,
  owner: 'O, for each caller',
});
const own = (fixture: Fixture, body?: Body): OperationInput => ({ fixture, body, owner: 'caller' });
const withParams =
  (fixture: Fixture, more: Params): Fixture =>
  async (...args) => ({ ...(await fixture(...args)), ...more });

/** Co-owners do not see a deleted app: that they may not restore it shows at an active one. */
const deletedApp: Fixture = (world, owner, letter) =>
  fixtures.appIn(letter === 'C' ? 'active' : 'deleted')(world, owner);

/** Also of somebody in another tenant. */
const ownFactor: Fixture = (world, owner, letter) =>
  fixtures.factor(world, letter === 'X' ? world.people.X : owner);

/** Who has no role in an app sees the runs that they started. */
const visibleRun: Fixture = async (world, owner, letter) => {
  const params = await delivery.bootstrapRun(world, letter === 'M' ? world.people.M : owner);
  const coOwners = `${world.tenant.base}/apps/${params.newApp}/co-owners`;
  if (letter === 'C') await owner.call('POST', coOwners, { user_id: world.people.C.id });
  return params;
};

/** By the ids of the OpenAPI document, several where they share an input. Each call creates new records. */
const sharedInputs: Readonly<Record<string, OperationInput>> = {
  'me.get sessions.list signIns.list factors.list tenants.list tenants.get members.list audit.list pats.list':
    inTenant(),
  'connectors.list presets.list grants.mine grants.terms grants.tables grants.list policies.list policies.warnings':
    inTenant(),
  'categories.list resourcePresets.list templates.list notifications.list apps.list': inTenant(),
  'apps.discover apps.mine apps.owned apps.received apps.workspace publications.list reviews.list':
    inTenant(),
  'gitHost.accounts gitHost.startLink gitHost.installations groups.list grantRequests.list': inTenant(),
  'grantRequests.options accessLog.list': inTenant(),
  'sessions.revoke': own(fixtures.session),
  'factors.startPasskey factors.startTotp': own(fixtures.password, ({ password }) => ({ password })),
  'factors.addPasskey': own(fixtures.newPasskey, ({ response }) => ({ response: JSON.parse(response!) })),
  'factors.addTotp': own(fixtures.totpSetup, ({ code }) => ({ code })),
  'factors.resetRecoveryCodes': own(ownFactor, ({ password }) => ({ password })),
  'factors.rename': own(fixtures.factor, { name: 'Key at work' }),
  'factors.remove': own(fixtures.factor, ({ password }) => ({ password })),
  'me.changePassword': own(fixtures.password, ({ password }) => ({
    current_password: password,
    new_password: `tulip anvil ${uniqueName('w')}`,
  })),
  'tenants.update': inTenant(() => ({ name: uniqueName('Tenant') })),
  'members.set': of(fixtures.userOutsideTenant, { role: 'tenant_member' }),
  'members.get members.remove': of(fixtures.userInTenant),
  'members.update': of(fixtures.userInTenant, { attributes: { region: 'eu' } }),
  'audit.listOfApp apps.get apps.openapi apps.metrics coOwners.list domains.list': of(fixtures.sharedApp),
  'rawDb.get storage.status git.status tables.list': of(fixtures.sharedApp),
  'pats.create': inTenant(() => ({ name: uniqueName('token') })),
  'pats.revoke': own(fixtures.pat),
  'groups.create': inTenant(() => ({ name: uniqueName('group') })),
  'groups.get groups.delete groupMembers.list': of(fixtures.group),
  'groups.update': of(fixtures.group, { description: 'changed' }),
  'groupMembers.add': of(fixtures.group, (_, { people }) => ({ user_id: people.M.id })),
  'groupMembers.remove': of(fixtures.groupWithMember),
  'connectors.create': inTenant(() => ({ name: uniqueName('connector'), kind: 'http' })),
  'connectors.get connectors.delete': of(fixtures.connector),
  'connectors.test connectors.refreshSchema connectors.tables': of(fixtures.appConnector),
  'connectors.update': of(fixtures.connector, { description: 'changed' }),
  'presets.create': inTenant(() => ({ name: uniqueName('preset'), actions: ['read'] })),
  'presets.get presets.delete': of(fixtures.preset),
  'presets.update': of(fixtures.preset, { actions: ['read', 'export'] }),
  'grants.create': of(fixtures.connector, (params, world) => fixtures.grantBody(world, params.connectorID!)),
  'grantRequests.create': of(fixtures.connector, ({ connectorID }) => fixtures.requestBody(connectorID!)),
  'grantRequests.get grantRequests.policies grantRequests.approve grantRequests.withdraw': of(
    fixtures.grantRequest,
  ),
  'grantRequests.reject': of(fixtures.grantRequest, { reason: 'no' }),
  'grants.get': of(fixtures.grant),
  'grants.replaceScope': of(fixtures.grant, ['sales', 'hr/people']),
  'grants.revoke': of(fixtures.grant, { reason: 'over' }),
  'access.check': own(fixtures.connector, ({ connectorID }, _, { id }) => ({
    subject_id: id,
    connector_id: connectorID,
    action: 'read',
  })),
  'access.preview': own(fixtures.connector, ({ connectorID }, _, { id }) => ({
    as: id,
    connector: connectorID,
    resource_path: 'sales/orders',
  })),
  'policies.create': inTenant(() => ({ name: uniqueName('policy') })),
  'policies.get policies.delete': of(fixtures.policy),
  'policies.replace': of(fixtures.policy, () => ({
    name: uniqueName('policy'),
    row_filter: 'region=eq.eu',
  })),
  'policies.update': of(fixtures.policy, { enabled: false }),
  'categories.create': inTenant(() => ({ name: uniqueName('category') })),
  'categories.get categories.delete': of(fixtures.category),
  'categories.update': of(fixtures.category, { description: 'changed', display_order: 3 }),
  'templates.create': inTenant(async (_, world) => ({
    ...(await delivery.pageRepo(world, world.people.A)),
    name: 'A page',
  })),
  'templates.delete': of(fixtures.template),
  'notifications.read': own(fixtures.notification, (params) => ({ ids: [params.notification] })),
  'icons.preCreate': inTenant({ slug: 'yet-to-be', content_type: 'image/png' }),
  'icons.sign': of(fixtures.sharedApp, { content_type: 'image/webp', variant: 'dark' }),

  'apps.search': of(() => ({ '?q': 'pet shop' })),
  'apps.checkAvailability': of(() => ({ '?slug': 'pet-shop' })),
  'apps.create': inTenant(() => ({ name: uniqueName('app') })),
  'apps.update': of(fixtures.privateApp, () => ({ summary: uniqueName('about') })),
  'apps.logs deployments.list deployments.get deployments.logs': of(fixtures.supersededDeployment),
  'deployments.grantUpload deployments.rollback env.list': of(fixtures.supersededDeployment),
  'serviceAccounts.create': of(fixtures.privateApp, () => ({ name: uniqueName('ci'), actions: ['rows'] })),
  'serviceAccounts.get serviceAccounts.delete serviceTokens.list': of(fixtures.serviceAccount),
  'serviceAccounts.update': of(fixtures.serviceAccount, { actions: ['rows'] }),
  'serviceTokens.create': of(fixtures.serviceAccount, () => ({ name: uniqueName('token') })),
  'serviceTokens.revoke': of(fixtures.serviceToken),
  'trustRules.add': of(fixtures.serviceAccount, fixtures.trustRuleBody),
  'trustRules.remove': of(fixtures.trustRule),
  'previews.list previews.get previews.redeploy previews.delete': of(delivery.preview),
  'apps.restart apps.instances': of(fixtures.liveProcess),
  'apps.scale': of(fixtures.liveProcess, () => ({ instances: { web: 2 } })),
  'runs.create': forEach(delivery.openRun, { command: 'true' }),
  'runs.list runs.get runs.logs runs.cancel': forEach(delivery.openRun),
  'schedules.list schedules.runs schedules.run': forEach(delivery.scheduledApp),
  'apps.archive apps.delete': of(fixtures.appIn('active')),
  'apps.reactivate': of(fixtures.appIn('archived')),
  'apps.suspend': of(fixtures.appIn('running')),
  'apps.resume': of(fixtures.appIn('suspended')),
  'apps.restore apps.purge': forEach(deletedApp),
  'apps.fork': of(delivery.sharedTemplate, ({ template }, { app }) => ({
    source: app.id,
    slug: uniqueName('b'),
    template,
  })),
  'bootstraps.start': of(delivery.sharedTemplate, ({ template }) => ({ template, slug: uniqueName('b') })),
  'bootstraps.get': forEach(visibleRun),
  'bootstraps.cancel': own(delivery.bootstrapRun),
  'coOwners.add appMembers.add': of(fixtures.privateApp, (_, { people }) => ({ user_id: people.M.id })),
  // C, who calls too, then removes themself.
  'coOwners.remove': of(async (world, owner) => ({
    ...(await fixtures.privateApp(world, owner)),
    userID: world.people.C.id,
  })),
  'ownership.transfer': of(fixtures.privateApp, (_, { people }) => ({ to: people.M.id })),
  'appMembers.list inspectionConsent.get inspections.list rawDb.enable': of(fixtures.privateApp),
  'storage.enable sites.get sites.enableStaging releases.list serviceAccounts.list': of(fixtures.privateApp),
  'accessRequests.list appRoles.list tables.export deployments.tableDrift': of(fixtures.privateApp),
  'accessRequests.create': forEach(fixtures.foreignInviteOnlyApp, ({ app }) => ({ app })),
  'accessRequests.accept accessRequests.refuse': forEach(fixtures.accessRequest),
  'appMembers.remove': of(fixtures.appWithMember),
  'appRoles.set': of(fixtures.privateApp, (_, { people }) => ({ role: 'manager', user: people.M.id })),
  'appRoles.remove': of(fixtures.appWithRole),
  // Every owner may revoke; `owners.test.ts` tests who may grant.
  'inspectionConsent.set': of(fixtures.appWithConsent, { granted: false }),
  'inspections.create': of(fixtures.appWithConsent, { what: 'tables', reason: 'a look' }),
  'publications.request': of(fixtures.releaseIn('active'), { visibility: 'public', note: 'please look' }),
  'publications.listOfApp reviews.listOfApp sites.unpublish': of(fixtures.releaseIn('active')),
  'publications.get publications.approve publications.withdraw': forEach(fixtures.publicationRequest),
  'reviews.get reviews.approve reviews.withdraw': forEach(fixtures.publicationRequest),
  'reviews.reject publications.reject': forEach(fixtures.publicationRequest, {
    reason: 'the prices are wrong',
  }),
  'reviews.logs': forEach(fixtures.reviewedDeployment),
  'domains.add': of(fixtures.domain, () => ({ host: fixtures.newHost() })),
  'domains.get domains.remove domains.verify': of(fixtures.domain),
  'rawDb.rotate rawDb.disable': of(fixtures.appWithRawDb),
  'storage.list': of(fixtures.appWithObject),
  'storage.getUrl storage.delete': of(withParams(fixtures.appWithObject, { '?key': 'a/b.txt' })),
  'storage.signUpload': of(fixtures.appWithObject, { key: 'new.txt' }),
  'storage.copy': of(fixtures.appWithObject, { from: 'a/b.txt', to: 'copy.txt' }),

  'gitHost.unlink': own(delivery.gitAccount),
  'gitHost.deleteRepository': own(async (world, owner) => {
    const [account = '', name = ''] = (await delivery.emptyRepository(world, owner)).repo.split('/');
    return { owner: account, name };
  }),
  'gitHost.pollLink': own(delivery.deviceCode, ({ code }) => ({ device_code: code })),
  'gitHost.repositories': own(delivery.installation),
  'gitHost.complete': own(delivery.pendingConnection, ({ state }) => ({ state })),
  'gitHost.detect': own(async (world, owner) => ({
    '?repo': (await delivery.pageRepo(world, owner)).repo,
  })),
  'git.connect': forEach(
    async (world, owner, letter) => ({
      ...(await fixtures.privateApp(world, owner)),
      repo: (await delivery.emptyRepository(world, world.ownerFor(letter))).repo,
    }),
    ({ repo }) => ({ repo }),
  ),
  'git.begin': of(fixtures.privateApp, {}),
  'git.update': of(delivery.connectedApp, { branch: 'other' }),
  'git.disconnect': of(delivery.connectedApp),
  'deployments.create': of(fixtures.supersededDeployment, async ({ app }, { tenant }, owner) => ({
    upload_id: await uploadSource({ base: `${tenant.base}/apps/${app}`, owner }, staticSource()),
  })),
  'deployments.cancel': of(fixtures.queuedDeployment),
  'env.change': of(fixtures.supersededDeployment, { set: { GREETING: 'hello' } }),

  'sites.set': of(fixtures.privateApp, { spa: true }),
  'sites.disableStaging releases.requestPromotion': of(fixtures.releaseIn('staged')),
  // The site of the whole internet exists for everybody.
  'sites.startAuth': inTenant(async (_, world) => ({ target: await fixtures.siteUrl(world, 'internet') })),
  'releases.get releases.files releases.diff releases.activate releases.revoke': of(
    fixtures.releaseIn('finalized'),
  ),
  // Reviewers read staged releases.
  'releases.file': of(withParams(fixtures.releaseIn('staged'), { '?path': 'index.html' })),
  'releases.create': of(fixtures.privateApp, fixtures.releaseBody),
  'releases.grantUpload releases.finalize': of(fixtures.releaseIn('draft')),
  'releases.stage': of(fixtures.releaseIn('stageable')),
  'releases.rollback': of(fixtures.releaseIn('superseded')),
  'releases.approvePromotion releases.rejectPromotion': forEach(fixtures.promotionRequest),

  'tables.create': of(fixtures.privateApp, fixtures.tableBody),
  'tables.get tables.drop indexes.list tableGrants.list rows.list rows.count rows.access rows.changes rows.trash tables.getAccess':
    of(fixtures.table),
  'rows.restore': of(fixtures.deletedRow),
  'rows.restoreMany': of(fixtures.deletedRow, ({ requestID }) => ({ request_id: requestID })),
  'rows.aggregate': of(withParams(fixtures.table, { '?select': 'count()' })),
  'tables.apply tables.check': of(fixtures.privateApp, {
    tables: { menu: { columns: ['dish:text'], access: 'read-only' } },
  }),
  'tables.setAccess': of(fixtures.table, { read: ['any'], write: ['role:manager'] }),
  'tables.update': of(fixtures.table, { description: 'changed' }),
  'columns.add': of(fixtures.table, { name: 'colour', type: 'text', nullable: true }),
  'columns.update': of(withParams(fixtures.table, { column: 'age' }), { default: '3' }),
  'columns.drop': of(withParams(fixtures.table, { column: 'age' })),
  'indexes.add': of(fixtures.table, { columns: ['age'] }),
  'indexes.drop': of(withParams(fixtures.table, { index: 'name_key' })),
  'tableGrants.issue': of(fixtures.table, fixtures.tableGrantBody),
  'tableGrants.revoke': of(fixtures.tableGrant),
  'people.list': of(withParams(fixtures.table, { '?ids': Bun.randomUUIDv7() })),
  'files.sign': of(fixtures.fileTable, { column: 'photo', name: 'rex.png', type: 'image/png', size: 9 }),
  'rows.get rows.delete rows.history': of(fixtures.row),
  'rows.insert': of(fixtures.table, fixtures.rowBody),
  'rows.update': of(fixtures.row, { age: 4 }),
  'rows.updateMany': of(withParams(fixtures.row, { '?age': 'eq.3' }), { age: 4 }),
  'rows.deleteMany': of(withParams(fixtures.row, { '?age': 'eq.3' })),
  'rows.batch': of(fixtures.table, ({ table }) => ({
    operations: [{ op: 'insert', table, values: fixtures.rowBody() }],
  })),
};

const inputs: Readonly<Record<string, OperationInput>> = Object.fromEntries(
  Object.entries(sharedInputs).flatMap(([ids, input]) => ids.split(' ').map((id) => [id, input])),
);

export const knownOperations: readonly string[] = Object.keys(inputs);

export async function newCallInput(
  id: string,
  world: World,
  letter: Letter,
  create = (input: OperationInput, owner: Person) => input.fixture(world, owner, letter),
): Promise<CallInput> {
  const input = inputs[id];
  if (!input) throw new Error(`${id} has no input in the tests.`);
  const owner = input.owner === 'caller' ? world.ownerFor(letter) : world.people.O;
  const params = await create(input, owner);
  const { body } = input;
  return {
    params: { tenantID: world.tenant.id, tenant: world.tenant.id, ...params },
    body: typeof body === 'function' ? await body(params, world, owner) : body,
  };
}

/** Inputs of calls that change nothing: operations share the records of a fixture, which may depend on the caller. */
export function unchangedInputs(world: World) {
  const made = new Map<Fixture, Map<string, Promise<Params>>>();
  return (id: string, letter: Letter): Promise<CallInput> =>
    newCallInput(id, world, letter, ({ fixture, owner: whose }, owner) => {
      const byCaller = made.get(fixture) ?? new Map<string, Promise<Params>>();
      const caller = whose === 'O' ? '' : letter;
      const params = byCaller.get(caller) ?? Promise.resolve(fixture(world, owner, letter));
      made.set(fixture, byCaller.set(caller, params));
      return params;
    });
}
