import { beforeAll, describe, expect, test } from 'bun:test';
import { admin, type Svc, svcFor } from './support/commands.ts';
import { setApp } from './support/database.ts';
import { addressOf, type Letter, readDocument } from './support/document.ts';
import { type AppState, appIn } from './support/fixtures.ts';
import { newCallInput } from './support/operation-inputs.ts';
import { caller } from './support/people.ts';
import { until } from './support/until.ts';
import { newWorld, type World } from './support/world.ts';

let world: World;
let svc: Svc;
beforeAll(async () => {
  world = await newWorld();
  svc = svcOf('O');
});

const svcOf = (letter: 'O' | 'C' | 'A' | 'M') =>
  svcFor(world.tenant.server, { token: world.people[letter].token, tenant: world.tenant.slug });
const appOf = async (state: AppState) => (await appIn(state)(world, world.people.O)).app;
const get = async (app: string) => (await world.as.O('GET', `${world.tenant.base}/apps/${app}`)).body;

interface App {
  id: string;
  slug: string;
  record: string;
  runtime: string;
  purge_after: string | null;
  changed?: false;
}

/** `svc apps <move> <app> --execute --json`, which succeeds and prints nothing on stderr. */
async function move(what: string, app: string): Promise<App> {
  const ran = await svc(['apps', what, app, '--execute', '--json']);
  expect([what, ran.code, ran.stderr]).toEqual([what, 0, '']);
  return ran.json<App>();
}

/** An app with a table of one row. */
async function appWithRows() {
  const id = await appOf('active');
  const tables = `${world.tenant.base}/apps/${id}/tables`;
  const made = await world.as.O('POST', tables, { name: 'pets', columns: ['name:text'] });
  expect(made.status).toBe(201);
  const data = `/data/${world.tenant.id}/${id}/pets`;
  const row = await world.as.O('POST', data, { name: 'Rex' });
  expect(row.status).toBe(201);
  return { id, data, rowId: String(row.body.id) };
}

describe('svc apps', () => {
  test('archive and reactivate an app, which is suspended afterwards', async () => {
    const app = await appOf('running');
    expect(await move('archive', app)).toMatchObject({ record: 'archived', runtime: 'suspended' });
    expect(await move('archive', app)).toMatchObject({ record: 'archived', changed: false });
    expect(await get(app)).toMatchObject({ deployment_status: 'archived', operating_status: 'archived' });
    expect(await move('reactivate', app)).toMatchObject({ record: 'active', runtime: 'suspended' });
    expect(await move('reactivate', app)).toMatchObject({ record: 'active', changed: false });
  });

  test('suspend and resume an app', async () => {
    const app = await appOf('running');
    expect(await move('suspend', app)).toMatchObject({ record: 'active', runtime: 'suspended' });
    expect(await move('suspend', app)).toMatchObject({ changed: false });
    expect(await move('resume', app)).toMatchObject({ record: 'active', runtime: 'running' });
    expect(await move('resume', app)).toMatchObject({ changed: false });
  });

  test('delete an app and restore it to its former state', async () => {
    const app = await appOf('archived');
    const deleted = await move('delete', app);
    expect(deleted).toMatchObject({ record: 'deleted' });
    expect(Date.parse(deleted.purge_after!) - Date.now()).toBeGreaterThan(29 * 24 * 3600 * 1000);
    expect(await move('delete', app)).toMatchObject({ record: 'deleted', changed: false });
    expect(await move('restore', app)).toMatchObject({ record: 'archived', purge_after: null });
    expect(await move('restore', app)).toMatchObject({ record: 'archived', changed: false });
  });

  test('purge prints what it removed; afterwards every command exits 5', async () => {
    const { id } = await appWithRows();
    const { slug } = await get(id);
    await move('delete', id);
    const preview = await svc(['apps', 'purge', slug]);
    expect([preview.code, preview.stdout]).toEqual([0, expect.stringContaining('- rows: 1\n')]);
    expect(preview.stdout).toContain('This cannot be undone.');
    const purged = await svc(['apps', 'purge', slug, '--execute', '--yes', '--json']);
    expect([purged.code, purged.json()]).toMatchObject([
      0,
      { id, slug, removed: { tables: 1, rows: 1, co_owners: 1, objects: 0, databases: 0 } },
    ]);
    for (const what of ['purge', 'restore', 'delete', 'archive', 'reactivate', 'suspend', 'resume', 'get']) {
      const line = ['apps', what, id, '--json', ...(what === 'get' ? [] : ['--execute', '--yes'])];
      const ran = await svc(line);
      expect([what, ran.code, JSON.parse(ran.stderr).code]).toEqual([what, 5, 'not_found']);
    }
    // The slug is free at once.
    const again = await svc(['apps', 'create', '--name', 'Again', '--slug', slug, '--execute', '--json']);
    expect([again.code, again.json<App>().slug]).toEqual([0, slug]);
  });

  test('print the state of the app and the possible next commands', async () => {
    const app = await appOf('running');
    const { slug } = await get(app);
    const output = async (...line: string[]) => {
      const { stdout, stderr } = await svc(['apps', ...line, '--execute', '--yes']);
      return [stdout, stderr];
    };
    const next = (...moves: string[]) => `Next: ${moves.map((it) => `svc apps ${it} ${slug}`).join(', ')}\n`;
    expect(await output('suspend', slug)).toEqual([
      `${slug} is active and suspended.\n`,
      next('archive', 'resume', 'delete'),
    ]);
    expect(await output('archive', slug)).toEqual([`${slug} is archived.\n`, next('reactivate', 'delete')]);
    expect(await output('archive', slug, '--quiet')).toEqual([`${slug} was already archived.\n`, '']);
    const { purge_after } = await move('delete', slug);
    expect(await output('delete', slug)).toEqual([
      `${slug} was already deleted.\nIt will be purged after ${purge_after}.\n`,
      next('restore', 'purge'),
    ]);
    expect(await output('purge', slug)).toEqual([`${slug} is purged.\nAlso removed:\n  co owners  1\n`, '']);
  });

  test('preview the new state and change nothing', async () => {
    for (const [what, state, line] of [
      ['archive', 'running', '~ record: active'],
      ['reactivate', 'archived', '~ record: archived'],
      ['suspend', 'running', '~ runtime: running'],
      ['resume', 'suspended', '~ runtime: suspended'],
      ['delete', 'active', '~ record: active'],
      ['restore', 'deleted', '~ record: deleted'],
      ['purge', 'deleted', '- slug: '],
    ] as const) {
      const app = await appOf(state);
      const before = await get(app);
      const ran = await svc(['apps', what, app]);
      expect([what, ran.code, ran.stdout.includes(line)]).toEqual([what, 0, true]);
      expect(ran.stdout).toContain(`svc apps ${what} ${app} --execute`);
      if (what === 'delete') expect(ran.stdout).toContain(`svc apps restore ${before.slug} --execute`);
      expect([what, await get(app)]).toEqual([what, before]);
    }
  });

  test.each<[string, string, AppState, number, string]>([
    ['suspending what is not deployed', 'suspend', 'active', 6, 'nothing_deployed'],
    ['suspending what is archived', 'suspend', 'archived', 6, 'invalid_state_transition'],
    ['suspending what is deleted', 'suspend', 'deleted', 5, 'not_found'],
    ['resuming what is not deployed', 'resume', 'active', 6, 'no_successful_deployment'],
    ['resuming what is archived', 'resume', 'archived', 6, 'invalid_state_transition'],
    ['archiving what is deleted', 'archive', 'deleted', 5, 'not_found'],
    ['reactivating what is deleted', 'reactivate', 'deleted', 5, 'not_found'],
    ['purging what is there', 'purge', 'active', 6, 'not_deleted'],
    ['purging what is archived', 'purge', 'archived', 6, 'not_deleted'],
  ])('%s is refused by name', async (_, what, state, exit, code) => {
    const app = await appOf(state);
    const before = await get(app);
    const ran = await svc(['apps', what, app, '--execute', '--yes', '--json']);
    expect([ran.code, JSON.parse(ran.stderr).code]).toEqual([exit, code]);
    expect(await get(app)).toEqual(before);
  });

  test('purge needs a confirmation: without a terminal and --yes it exits 11 and removes nothing', async () => {
    const app = await appOf('deleted');
    const { plan } = (await svc(['apps', 'purge', app, '--json'])).json<{ plan: { fingerprint: string } }>();
    for (const named of [[], ['--plan', plan.fingerprint]]) {
      const ran = await svc(['apps', 'purge', app, '--execute', ...named, '--json']);
      expect([named, ran.code, JSON.parse(ran.stderr).code]).toEqual([named, 11, 'confirmation_required']);
    }
    expect(await get(app)).toMatchObject({ record: 'deleted' });
  });

  test("an app above the tenant's tier stays suspended", async () => {
    const slug = `small-${Bun.randomUUIDv7().slice(-12)}`;
    const { server } = world.tenant;
    await admin(server, ['tenants', 'create', slug, '--max-resource-tier', 'S']);
    const { email } = world.people.O;
    await admin(server, ['members', 'set', '--tenant', slug, '--user', email, '--role', 'tenant_member']);
    const base = `/api/v1/tenants/${slug}/apps`;
    const { body: made } = await world.as.O('POST', base, { name: 'Grew', slug: `grew-${slug}` });
    await setApp(server, made.id, { runtime: 'suspended', is_deployed: true, resource_preset: 'L' });
    const ran = await svc(['apps', 'resume', made.id, '--tenant', slug, '--execute', '--json']);
    expect([ran.code, JSON.parse(ran.stderr).code]).toEqual([7, 'resource_tier_exceeded']);
    expect((await world.as.O('GET', `${base}/${made.id}`)).body.runtime).toBe('suspended');
  });

  test('a co-owner archives and suspends, but neither deletes, restores nor purges', async () => {
    const app = await appOf('running');
    const theirs = svcOf('C');
    const ran = await theirs(['apps', 'suspend', app, '--execute', '--json']);
    expect([ran.code, ran.json<App>().runtime]).toEqual([0, 'suspended']);
    for (const what of ['delete', 'restore', 'purge']) {
      const refused = await theirs(['apps', what, app, '--execute', '--yes', '--json']);
      expect([what, refused.code, JSON.parse(refused.stderr).code]).toEqual([what, 4, 'forbidden']);
    }
    await move('delete', app);
    for (const what of ['delete', 'restore', 'purge']) {
      const refused = await theirs(['apps', what, app, '--execute', '--yes', '--json']);
      expect([what, refused.code]).toEqual([what, 5]);
    }
    const byAdmin = await svcOf('A')(['apps', 'restore', app, '--execute', '--json']);
    expect([byAdmin.code, byAdmin.json<App>().record]).toEqual([0, 'active']);
  });
});

describe('a deleted app', () => {
  test('is not found by any operation but get, restore and purge by owner and admin', async () => {
    const { id } = await appWithRows();
    await move('delete', id);
    const { operations } = await readDocument(world.tenant.server);
    const below = operations.filter(({ path }) => path.includes('{app}'));
    const left = ['apps.get', 'apps.delete', 'apps.restore', 'apps.purge', 'rawDb.get', 'audit.listOfApp'];
    expect(below.map((it) => it.id)).toEqual(expect.arrayContaining(left));
    const answers: string[] = [];
    for (const operation of below) {
      const { params, body } = await newCallInput(operation.id, world, 'O');
      const address = addressOf(operation, {
        ...params,
        app: id,
        ...(params.table ? { table: 'pets' } : {}),
      });
      const reached: Letter[] = left.includes(operation.id) ? ['C', 'M'] : ['O', 'A', 'C', 'M', 'X'];
      for (const letter of reached) {
        const answer = await world.as[letter](operation.method, address, body);
        if (answer.status !== 404) answers.push(`${operation.id} by ${letter}: ${answer.status}`);
      }
    }
    expect(answers).toEqual([]);
    expect(await get(id)).toMatchObject({ record: 'deleted' });
  });

  test('is in no list, and keeps its slug', async () => {
    const app = await appOf('deleted');
    const { slug } = await get(app);
    const { body } = await world.as.A('GET', `${world.tenant.base}/apps?per_page=200`);
    expect(body.items.some(({ id }: App) => id === app)).toBe(false);
    const ran = await svc(['apps', 'create', '--name', 'Again', '--slug', slug, '--execute', '--json']);
    expect([ran.code, JSON.parse(ran.stderr).code]).toEqual([6, 'slug_taken']);
  });
});

describe('rows', () => {
  const statuses = async ({ data, rowId }: { data: string; rowId: string }, call = world.as.O) => [
    (await call('GET', `${data}/${rowId}`)).status,
    (await call('POST', data, { name: 'Ada' })).status,
  ];
  const become = (app: { data: string; rowId: string }, wanted: number[], call = world.as.O) =>
    until(`rows answer ${wanted}`, async () => `${await statuses(app, call)}` === `${wanted}`);

  test('are read-only while the app is archived, not found while it is deleted, and back when it is restored', async () => {
    const app = await appWithRows();
    expect(await statuses(app)).toEqual([200, 201]);
    await move('archive', app.id);
    await become(app, [200, 409]);
    await move('delete', app.id);
    await become(app, [404, 404]);
    await move('restore', app.id);
    await become(app, [200, 409]);
    await move('reactivate', app.id);
    await become(app, [200, 201]);
    expect((await world.as.O('GET', `${app.data}/_count`)).body.count).toBe(3);
  });

  test('are not accessible by a token while the app is deleted, nor by one limited to the app', async () => {
    const app = await appWithRows();
    const { body } = await world.as.O('POST', `${world.tenant.base}/pats`, {
      name: 'of one app',
      actions: ['read', 'write'],
      apps: [app.id],
    });
    const limited = caller(world.tenant.server, { 'x-api-key': body.secret });
    for (const call of [world.as.P, limited]) expect(await statuses(app, call)).toEqual([200, 201]);
    await move('delete', app.id);
    for (const call of [world.as.P, limited]) await become(app, [404, 404], call);
    await move('restore', app.id);
    await become(app, [200, 201], limited);
    await move('delete', app.id);
    expect((await svc(['apps', 'purge', app.id, '--execute', '--yes'])).code).toBe(0);
    // The token for this app alone is revoked; the other one stays valid for the other apps.
    await become(app, [401, 401], limited);
    await become(app, [404, 404], world.as.P);
  });

  test('of a suspended app can be read but not written by a token; its owner can write', async () => {
    const app = await appWithRows();
    await setApp(world.tenant.server, app.id, { runtime: 'running', is_deployed: true });
    expect(await statuses(app, world.as.P)).toEqual([200, 201]);
    await move('suspend', app.id);
    await become(app, [200, 403], world.as.P);
    expect(await statuses(app)).toEqual([200, 201]);
    await move('resume', app.id);
    await become(app, [200, 201], world.as.P);
  });
});
