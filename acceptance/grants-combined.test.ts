import { describe, expect, test } from 'bun:test';
import { useFixture } from '../scripts/use-fixture.ts';
import { svcFor } from './support/commands.ts';
import { openServerDatabase, setApp } from './support/database.ts';
import { governedWorld } from './support/governed.ts';
import { bearer, type Call, caller, done, newMember } from './support/people.ts';
import type { TestTable } from './support/rows.ts';
import { until } from './support/until.ts';

const world = useFixture(governedWorld);

async function orders() {
  const table = await world.table(['region:text', 'email:text', 'team:text:nullable'], { access: 'closed' });
  const rows = await table.insert(
    { region: 'eu', email: 'ada@example.com', team: 'traders' },
    { region: 'us', email: 'zoe@example.com', team: null },
  );
  return { table, path: world.pathOf(table), ids: rows.map(({ id }) => id as string) };
}

/** The same table at its own path and behind its connector. */
const bothPaths = (credential: Record<string, string>, table: TestTable): [string, Call][] => {
  const { server, tenant, app } = world;
  const foreign = `/data/${tenant.slug}/_connectors/tables/${app.slug}/${table.name}`;
  return [
    ['app', world.as(credential, table)],
    ['connector', caller(server, credential, foreign)],
  ];
};

const masks = [{ column: 'email', kind: 'email' }];
const suspend = async (text: string, id: string) => {
  const database = openServerDatabase(world.server);
  await database.query(text, [id]);
  await database.close();
};

describe('a column that a person sees masked or hidden', () => {
  test('cannot be written through another grant, except in rows where a grant shows it', async () => {
    const { table, path, ids } = await orders();
    const ada = await newMember(world.tenant);
    await world.grant(ada, path, { policy_ids: [await world.policy(path, { masks })] });
    await world.grant(ada, path, { preset_id: await world.preset('update') });
    for (const [at, send] of bothPaths(bearer(ada), table)) {
      const refused = await send('PATCH', `/${ids[0]}`, { email: 'x@example.com' });
      expect([at, refused.status, refused.body.errors?.[0]?.code]).toEqual([at, 400, 'read_only']);
      expect([at, (await send('PATCH', `/${ids[0]}`, { team: at })).status]).toEqual([at, 200]);
    }
    await world.grant(ada, path, {
      preset_id: 'reader',
      policy_ids: [await world.policy(path, { row_filter: 'region=eq.us' })],
    });
    for (const [at, send] of bothPaths(bearer(ada), table)) {
      const write = (id: string | undefined) => send('PATCH', `/${id}`, { email: `${at}@example.com` });
      await until('the grant is in use', async () => (await write(ids[1])).status === 200);
      expect([at, (await write(ids[0])).status]).toEqual([at, 403]);
    }
  });

  test('does not exist for writing where every grant that reads hides it, also with a token that only writes', async () => {
    const { table, path, ids } = await orders();
    const ada = await newMember(world.tenant);
    const columns = { mode: 'deny', names: ['email'] };
    await world.grant(ada, path, { policy_ids: [await world.policy(path, { columns })] });
    await world.grant(ada, path, { preset_id: await world.preset('update') });
    const token = { name: 'writes', actions: ['write'] };
    const { secret } = await done(ada.call('POST', `${world.tenant.base}/pats`, token));
    for (const credential of [bearer(ada), { 'x-api-key': secret }])
      for (const [at, send] of bothPaths(credential, table)) {
        const refused = await send('PATCH', `/${ids[0]}`, { email: 'x@example.com' });
        expect([at, refused.status, refused.body.code]).toEqual([at, 400, 'unknown_column']);
      }
  });
});

test('a number that one grant rounds and another shows in some rows stays a number', async () => {
  const table = await world.table(['id:int', 'total:int'], { access: 'closed' });
  await table.insert({ id: 1, total: 9 }, { id: 2, total: 104 }, { id: 3, total: 1_204 });
  const path = world.pathOf(table);
  const ada = await newMember(world.tenant);
  const rounded = [{ column: 'total', kind: 'round', args: { to: 10 } }];
  for (const fields of [{ masks: rounded }, { row_filter: 'id=eq.2' }])
    await world.grant(ada, path, { policy_ids: [await world.policy(path, fields)] });
  for (const [at, send] of bothPaths(bearer(ada), table)) {
    const totals = async (search: string) =>
      (await done(send('GET', `?select=total&${search}`))).data.map(({ total }: { total: unknown }) => total);
    expect([at, await totals('sort=total')]).toEqual([at, [10, 104, 1_200]]);
    expect([at, await totals('sort=total&total=gt.20')]).toEqual([at, [104, 1_200]]);
  }
});

test('a policy whose attribute a person lacks shows no rows, and says why', async () => {
  const { table, path, ids } = await orders();
  const ada = await newMember(world.tenant);
  const policy = await world.policy(path, { name: 'Own region', row_filter: 'region=eq.@me.region' });
  const preset_id = await world.preset('read', 'export', 'update', 'insert');
  await world.grant(ada, path, { preset_id, policy_ids: [policy] });
  for (const [at, send] of bothPaths(bearer(ada), table)) {
    const listed = await send('GET', '?select=email&region=eq.eu');
    expect([at, listed.status, listed.body.data]).toEqual([at, 200, []]);
    expect([at, (await send('GET', '/_count')).body.count]).toEqual([at, 0]);
    expect([at, (await send('GET', `/${ids[0]}`)).status]).toEqual([at, 404]);
    expect([at, (await send('PATCH', `/${ids[0]}`, { team: 'x' })).status]).toEqual([at, 404]);
    expect([at, (await send('POST', '', { region: 'eu', email: 'e' })).status]).toEqual([at, 403]);
    const exported = await send('GET', '', undefined, { accept: 'application/x-ndjson' });
    expect([at, exported.status, exported.text]).toEqual([at, 200, '']);
    const { body } = await send('GET', '/_access');
    expect([at, body.filter, body.reason]).toEqual([
      at,
      'no rows',
      'You see no rows: the policy “Own region” shows each person only rows that match their attribute region, and you do not have this attribute.',
    ]);
  }
});

test('the built-in presets open what their names say', async () => {
  const { table, path } = await orders();
  const codes = async (preset_id: string) => {
    const person = await newMember(world.tenant);
    await world.grant(person, path, { preset_id });
    const send = world.as(bearer(person), table);
    const { status, body } = await send('POST', '', { region: 'eu', email: 'e' });
    const id = body.id ?? (await done(send('GET', '?per_page=1'))).data[0].id;
    const changed = (await send('PATCH', `/${id}`, { region: 'us' })).status;
    const exported = (await send('GET', '', undefined, { accept: 'text/csv' })).status;
    return [(await send('GET')).status, status, changed, exported, (await send('DELETE', `/${id}`)).status];
  };
  expect(await codes('reader')).toEqual([200, 403, 403, 403, 403]);
  expect(await codes('writer')).toEqual([200, 201, 200, 403, 204]);
  expect(await codes('admin')).toEqual([200, 201, 200, 200, 204]);
});

test('@me.groups stands for the names and the ids of groups, and a new name counts at once', async () => {
  const { table, path } = await orders();
  const { admin, base } = world.tenant;
  const ada = await newMember(world.tenant);
  const name = `traders-${Bun.randomUUIDv7().slice(-12)}`;
  const group = await done(admin.call('POST', `${base}/groups`, { name }));
  await done(admin.call('POST', `${base}/groups/${group.id}/members`, { user_id: ada.id }));
  await world.grant(ada, path, {
    policy_ids: [await world.policy(path, { row_filter: 'team=eq.@me.groups' })],
  });
  await table.insert({ region: 'a', email: 'a', team: name }, { region: 'b', email: 'b', team: group.id });
  const send = world.as(bearer(ada), table);
  const regions = async () =>
    (await done(send('GET', '?sort=region'))).data.map(({ region }: { region: string }) => region).join();
  expect(await regions()).toBe('a,b');
  await done(admin.call('PATCH', `${base}/groups/${group.id}`, { name: 'traders' }));
  await until('the new name counts', async () => (await regions()) === 'b,eu', 2_000);
});

test('an access check says that a suspended person or app can do nothing', async () => {
  const { path } = await orders();
  const { admin, base } = world.tenant;
  const check = async (subject_id: string, subject_kind: string) => {
    const asked = { connector_id: 'tables', action: 'read', resource_path: path };
    const { allowed, reason } = await done(
      admin.call('POST', `${base}/access/check`, { subject_id, subject_kind, ...asked }),
    );
    return [allowed, reason];
  };
  const ada = await newMember(world.tenant);
  await world.grant(ada, path);
  const app = await done(admin.call('POST', `${base}/apps`, { name: 'job', slug: 'job' }));
  await world.grant(app, path, { subject_kind: 'app' });
  expect(await check(ada.id, 'user')).toEqual([true, 'granted']);
  expect(await check('job', 'app')).toEqual([true, 'granted']);
  await suspend(`update svc.users set status = 'suspended' where id = $1`, ada.id);
  await setApp(world.server, app.id, { runtime: 'suspended' });
  expect(await check(ada.id, 'user')).toEqual([false, 'subject_not_active']);
  expect(await check('job', 'app')).toEqual([false, 'subject_not_active']);
});

test('each grant is listed with its own masks, and the table with what all of them show', async () => {
  const { table, path } = await orders();
  const ada = await newMember(world.tenant);
  const masked = await world.grant(ada, path, { policy_ids: [await world.policy(path, { masks })] });
  const clear = await world.grant(ada, path, {
    policy_ids: [await world.policy(path, { row_filter: 'region=eq.us' })],
  });
  const { items } = await done(ada.call('GET', `${world.tenant.base}/me/tables?path=${path}`));
  const [{ grants, masked_columns }] = items;
  const byId = Object.fromEntries(
    grants.map((grant: { id: string; masked_columns: string[] }) => [grant.id, grant.masked_columns]),
  );
  expect([byId, masked_columns]).toEqual([{ [masked]: ['email'], [clear]: [] }, ['email']]);
  const listed = await svcFor(world.server, { token: ada.token, tenant: world.tenant.slug })([
    'grants',
    'mine',
  ]);
  expect(listed.stdout.match(/\(masked: email\)/g)?.length).toBe(1);
  expect(listed.stdout).toContain(table.name);
});

describe('a service account', () => {
  async function account() {
    const { table, path, ids } = await orders();
    const { tenant, owner } = world;
    const named = { name: 'Job', slug: `job-${Bun.randomUUIDv7().slice(-8)}` };
    const app = await done(owner.call('POST', `${tenant.base}/apps`, named));
    const accounts = `${tenant.base}/apps/${app.slug}/service-accounts`;
    const { id } = await done(owner.call('POST', accounts, { name: 'nightly', actions: ['rows'] }));
    const { secret } = await done(owner.call('POST', `${accounts}/${id}/tokens`, { name: 'test' }));
    const preset_id = await world.preset('read', 'update');
    const policy_ids = [await world.policy(path, { masks })];
    await world.grant({ id }, path, { subject_kind: 'service_account', preset_id, policy_ids });
    return { table, ids, app, ways: bothPaths(bearer({ token: secret }), table) };
  }

  test('uses its grants at both paths of the table of another app, and nothing else of it', async () => {
    const { ids, ways } = await account();
    const other = await orders();
    for (const [at, send] of ways) {
      const { body } = await send('GET', '?sort=region&select=email');
      expect([at, body.data]).toEqual([at, [{ email: 'a•••@example.com' }, { email: 'z•••@example.com' }]]);
      expect([at, (await send('PATCH', `/${ids[0]}`, { team: at })).status]).toEqual([at, 200]);
      expect([at, (await send('PATCH', `/${ids[0]}`, { email: at })).status]).toEqual([at, 400]);
      expect([at, (await send('DELETE', `/${ids[0]}`)).status]).toEqual([at, 403]);
      expect([at, (await send('GET', `/../${other.table.name}`)).status]).toEqual([at, 404]);
    }
  });

  test('changes nothing while its app is suspended', async () => {
    const { app, ids, ways } = await account();
    const { server, owner, tenant } = world;
    await setApp(server, app.id, { runtime: 'running', is_deployed: true });
    for (const [at, send] of ways)
      expect([at, (await send('PATCH', `/${ids[0]}`, { team: at })).status]).toEqual([at, 200]);
    await done(owner.call('POST', `${tenant.base}/apps/${app.slug}/suspend`));
    for (const [at, send] of ways) {
      const write = () => send('PATCH', `/${ids[0]}`, { team: 'x' });
      await until(`${at} refuses`, async () => (await write()).status === 403, 1_000);
      expect([at, (await send('GET')).status]).toEqual([at, 200]);
    }
  });
});

test('warnings name the policies that close a table, cover none, or narrow nothing', async () => {
  const { path } = await orders();
  const { admin, base, slug } = world.tenant;
  const ada = await newMember(world.tenant);
  const warningsOf = async (policy: string) => {
    const { items } = await done(
      admin.call('GET', `${base}/policy-warnings?connector=tables&policy=${policy}`),
    );
    return items.map(({ code, text }: { code: string; text: string }) => [code, text]);
  };
  const fine = await world.policy(path, { row_filter: 'region=eq.eu' });
  const enforced = await world.policy(`${world.app.slug}/nothing`, { name: 'Nowhere', enforced: true });
  const unfit = await world.policy(path, { name: 'Old', row_filter: 'gone=eq.1' });
  await world.grant(ada, path, { policy_ids: [fine, unfit] });
  expect(await warningsOf(fine)).toEqual([]);
  expect(await warningsOf(enforced)).toEqual([
    ['covers_no_table', `The policy “Nowhere” covers no table: there is none at ${world.app.slug}/nothing.`],
  ]);
  expect(await warningsOf(unfit)).toEqual([
    [
      'does_not_fit',
      `The policy “Old” does not fit ${path} of tables, so nobody can read the table with it. The table has no column \`gone\`.`,
    ],
  ]);
  const idle = await world.policy(path, { name: 'Idle', row_filter: 'region=eq.eu' });
  const svc = svcFor(world.server, { token: admin.token, tenant: slug });
  const { stdout } = await svc(['policies', 'warnings', '--policy', idle]);
  expect(stdout).toContain(
    'The policy “Idle” narrows nothing: it is not enforced, and no active grant names it.',
  );
});
