import { beforeAll, describe, expect, test } from 'bun:test';
import { type GovernedWorld, governedWorld } from './support/governed.ts';
import { bearer, type Call, caller, done, newMember, type Person, tokenThrough } from './support/people.ts';
import type { TestTable } from './support/rows.ts';
import { until } from './support/until.ts';

let world: GovernedWorld;
beforeAll(async () => {
  world = await governedWorld();
});

const teams = ['red', 'blue', null];

async function teamsTable(): Promise<TestTable> {
  const table = await world.table(['team:text:nullable', 'tags:text[]'], { access: 'closed' });
  await table.insert(...teams.map((team) => ({ team, tags: team === null ? [] : [team] })));
  return table;
}

/** The same table at its own path and behind its connector. */
function bothPaths(person: Person, table: TestTable): [string, Call][] {
  const { server, tenant, app } = world;
  const foreign = `/data/${tenant.slug}/_connectors/tables/${app.slug}/${table.name}`;
  return [
    ['app', world.as(bearer(person), table)],
    ['connector', caller(server, bearer(person), foreign)],
  ];
}

const shown = async (send: Call) => {
  const { data } = await done(send('GET', '?sort=team'));
  return data.map(({ team }: { team: string | null }) => team);
};

const tenantCall = (method: string, path: string, body: object) =>
  done(world.tenant.admin.call(method, `${world.tenant.base}/${path}`, body));

async function preview(person: Person, table: TestTable) {
  const { body } = await world.tenant.admin.call('POST', `${world.tenant.base}/access/preview`, {
    as: person.email,
    connector: 'tables',
    resource_path: world.pathOf(table),
  });
  return body;
}

describe('a list of the caller that is empty', () => {
  test.each([
    ['team=eq.@me.groups', []],
    ['team=in.(@me.groups)', []],
    ['tags=ov.@me.groups', []],
    ['team=in.(@me.groups,red)', ['red']],
    ['or=(team.eq.red,team.eq.@me.groups)', ['red']],
    ['team=neq.@me.groups', ['blue', 'red', null]],
    ['team=not.in.(@me.groups)', ['blue', 'red', null]],
  ])('is a value: %s', async (row_filter, rows) => {
    const table = await teamsTable();
    const ada = await newMember(world.tenant);
    const path = world.pathOf(table);
    await world.grant(ada, path, {
      policy_ids: [await world.policy(path, { name: row_filter, row_filter })],
    });
    for (const [at, send] of bothPaths(ada, table)) expect([at, await shown(send)]).toEqual([at, rows]);
    const { rows: seen, reason } = await preview(ada, table);
    expect(seen).toEqual({ visible: rows.length, all: 3 });
    const shows = row_filter.startsWith('team=')
      ? 'only rows whose “team” is the name or id of a group that the person is in'
      : 'each person only rows that match their groups';
    expect(reason).toBe(
      rows.length > 0
        ? null
        : `${ada.email} sees no rows: the policy “${row_filter}” shows ${shows}, and ${ada.email} is in no group.`,
    );
  });

  test('and one with entries finds and excludes the rows of its groups, never rows without a value', async () => {
    const table = await teamsTable();
    const [ada, ben] = [await newMember(world.tenant), await newMember(world.tenant)];
    const path = world.pathOf(table);
    const group = await tenantCall('POST', 'groups', { name: 'red' });
    const grants = [
      { person: ada, row_filter: 'tags=ov.@me.groups', rows: ['red'] },
      { person: ben, row_filter: 'team=neq.@me.groups', rows: ['blue'] },
    ];
    for (const { person, row_filter } of grants) {
      await tenantCall('POST', `groups/${group.id}/members`, { user_id: person.id });
      await world.grant(person, path, { policy_ids: [await world.policy(path, { row_filter })] });
    }
    for (const { person, rows } of grants)
      for (const [at, send] of bothPaths(person, table)) expect([at, await shown(send)]).toEqual([at, rows]);
  });

  test('leaves the rows of the other alternatives of a rule; a missing attribute makes its whole filter false', async () => {
    const { tenant, server, app } = world;
    const table = await teamsTable();
    const ada = await newMember(tenant);
    const token = await tokenThrough(server, ada, `${tenant.slug}/${app.slug}`);
    const send = caller(server, bearer({ token }), table.path);
    const read = (rule: string) =>
      done(table.shape('PUT', '/access', { read: [rule, 'team=eq.blue'], write: ['none'] }));
    await read('or=(team.eq.red,team.in.(@me.groups))');
    await until('the rule is in use', async () => (await send('GET', '')).status === 200, 2_000);
    expect(await shown(send)).toEqual(['blue', 'red']);
    await read('or=(team.eq.red,team.eq.@me.region)');
    await until('the rule is in use', async () => (await shown(send)).length === 1, 2_000);
    expect(await shown(send)).toEqual(['blue']);
  });
});

test('roles in the app are the same at its tables and behind its connector', async () => {
  const table = await teamsTable();
  const ada = await newMember(world.tenant);
  const path = world.pathOf(table);
  const role = { role: 'red', user: ada.id };
  await done(world.owner.call('POST', `${world.app.base}/roles`, role));
  await world.grant(ada, path);
  const id = await world.policy(path, { row_filter: 'team=neq.@me.roles', enforced: true });
  for (const [at, send] of bothPaths(ada, table)) {
    await until('the policy is in use', async () => (await shown(send)).length === 1, 2_000);
    expect([at, await shown(send)]).toEqual([at, ['blue']]);
  }
  expect((await preview(ada, table)).rows).toEqual({ visible: 1, all: 3 });
  await tenantCall('PATCH', `access-policies/${id}`, { enabled: false });
});

test.each(['team=cs.@me.groups', 'team=gt.@me.groups', 'team=like.@me.roles', 'team=between.(@me.groups,z)'])(
  'a filter that compares a list with one value is refused: %s',
  async (row_filter) => {
    const table = await teamsTable();
    const { admin, base } = world.tenant;
    const policy = { name: row_filter, connector_id: world.connectorId, row_filter };
    const saved = await admin.call('POST', `${base}/access-policies`, policy);
    const rule = await table.shape('PUT', '/access', { read: [row_filter], write: ['none'] });
    for (const { status, body } of [saved, rule]) {
      expect([status, body.errors[0].code]).toEqual([400, 'unknown_placeholder']);
      expect(body.errors[0].detail).toContain('is a list: compare it with eq, neq or in');
    }
  },
);
