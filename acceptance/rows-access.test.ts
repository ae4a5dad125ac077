import { beforeAll, describe, expect, test } from 'bun:test';
import { openServerDatabase } from './support/database.ts';
import { bearer, type Call, caller, newApp, newPerson, newTenant, type Person } from './support/people.ts';
import {
  comparable,
  grant,
  lines,
  ndjson,
  type RowsWorld,
  rowsWorld,
  type TestTable,
} from './support/rows.ts';

import { until } from './support/until.ts';

let world: RowsWorld;
/** A member of the tenant without a relation to the app. */
let member: Person;
let admin: Person;

beforeAll(async () => {
  world = await rowsWorld();
  admin = world.tenant.admin;
  member = await newPerson(world.server, { tenant: world.tenant.id, role: 'tenant_member' });
});

const as = (person: Person, table: TestTable) => world.as(bearer(person), table);

/** Every call of the row API, for a row that exists. */
const calls = (id: string): [method: string, path: string, body?: object | string][] => [
  ['GET', ''],
  ['GET', '/_count'],
  ['GET', `/${id}`],
  ['HEAD', ''],
  ['POST', '', { a: 1 }],
  ['PATCH', `/${id}`, { a: 2 }],
  ['DELETE', `/${id}`],
  ['PUT', ''],
  ['GET', '?nope=1'],
  ['POST', '', { nope: 1 }],
];

/** A revoked right stops working within a second. */
const gone = (send: Call) =>
  until('the table is not there', async () => (await send('GET')).status === 404, 1_000);

async function sameAsAbsent(send: Call, table: TestTable, credential: Record<string, string>) {
  const [row] = await table.insert({ a: 1 });
  const absent = caller(world.server, credential, `${world.data}/no_such_table`);
  for (const [method, path, body] of calls(row.id)) {
    const answers = [await send(method, path, body), await absent(method, path, body)].map(comparable);
    expect([method, path, answers[0]]).toEqual([method, path, answers[1]]);
    expect(answers[0]?.status).toBe(404);
  }
  expect((await table.send('GET', `/${row.id}`)).body).toEqual(row);
}

describe('without a grant', () => {
  test('owner and co-owner can do everything, by login and by token', async () => {
    const coOwner = await newPerson(world.server, { tenant: world.tenant.id, role: 'tenant_member' });
    const app = await newApp(world.tenant, { owner: world.owner, coOwner });
    const tables = `${world.tenant.base}/apps/${app.id}/tables`;
    await world.owner.call('POST', tables, { name: 'shared', columns: ['a:int'] });
    for (const person of [world.owner, coOwner]) {
      for (const credential of [bearer(person), { 'x-api-key': await world.pat(person) }]) {
        const send = caller(world.server, credential, `/data/${world.tenant.slug}/${app.slug}/shared`);
        const created = await send('POST', '', { a: 1 });
        expect(created.status).toBe(201);
        expect((await send('PATCH', `/${created.body.id}`, { a: 2 })).body.a).toBe(2);
        expect((await send('GET', '/_count')).body).toEqual({ count: 1 });
        expect((await send('POST', '', lines([{ a: 1 }]), ndjson)).status).toBe(201);
        for (const { id } of (await send('GET')).body.data)
          expect((await send('DELETE', `/${id}`)).status).toBe(204);
      }
    }
    // The right ends with the role.
    const left = await world.owner.call(
      'DELETE',
      `${world.tenant.base}/apps/${app.id}/co-owners/${coOwner.id}`,
    );
    expect(left.status).toBeLessThan(300);
    const send = caller(world.server, bearer(coOwner), `/data/${world.tenant.slug}/${app.slug}/shared`);
    await gone(send);
  });

  test('an admin, a member, an outsider and their tokens get the exact response of an unknown table', async () => {
    const table = await world.table(['a:int']);
    const { outsider } = world.tenant;
    for (const person of [admin, member, outsider])
      await sameAsAbsent(as(person, table), table, bearer(person));
    for (const person of [admin, member]) {
      const credential = { 'x-api-key': await world.pat(person) };
      await sameAsAbsent(world.as(credential, table), table, credential);
    }
  });

  test('a token of another tenant gets the same response for tables, unknown tables and unknown tenants', async () => {
    const table = await world.table(['a:int']);
    const elsewhere = await newTenant(world.server);
    const made = await elsewhere.admin.call('POST', `${elsewhere.base}/pats`, {
      name: 'x',
      actions: ['read', 'write'],
    });
    const credential = { 'x-api-key': made.body.secret };
    await sameAsAbsent(world.as(credential, table), table, credential);
    const call = caller(world.server, credential);
    const answers = await Promise.all(
      [
        `${table.path}`,
        `${world.data}/none`,
        `/data/${world.tenant.slug}/none/t`,
        '/data/none/none/none',
      ].map((path) => call('GET', path)),
    );
    for (const answer of answers) expect(comparable(answer)).toEqual(comparable(answers[0]!));
  });

  test('a token for one tenant of a member of two is invalid in the other', async () => {
    const table = await world.table(['a:int']);
    const elsewhere = await newTenant(world.server);
    await elsewhere.admin.call('PUT', `${elsewhere.base}/members/${world.owner.id}`, {
      role: 'tenant_member',
    });
    const made = await world.owner.call('POST', `${elsewhere.base}/pats`, {
      name: 'x',
      actions: ['read', 'write'],
    });
    expect(made.status).toBe(201);
    const credential = { 'x-api-key': made.body.secret };
    await sameAsAbsent(world.as(credential, table), table, credential);
  });
});

describe('by grant', () => {
  test('to a user allows its actions only, and nothing after it ends', async () => {
    const table = await world.table(['a:int']);
    const [row] = await table.insert({ a: 1 });
    const send = as(member, table);
    const reading = await grant(table, 'user', member.id, ['read']);
    expect((await send('GET', `/${row.id}`)).body).toEqual(row);
    for (const [method, path, body] of [
      ['POST', '', { a: 1 }],
      ['PATCH', `/${row.id}`, { a: 1 }],
      ['DELETE', `/${row.id}`, undefined],
    ] as const) {
      const answer = await send(method, path, body);
      expect([answer.status, answer.body.code]).toEqual([403, 'forbidden']);
    }
    expect((await table.shape('DELETE', `/grants/${reading}`)).status).toBe(204);
    await gone(send);
    await grant(table, 'user', member.id, ['write']);
    expect((await send('GET')).body.code).toBe('forbidden');
    const created = await send('POST', '', { a: 2 });
    expect([created.status, created.text]).toEqual([201, '']);
    const id = created.headers.get('location')?.split('/').at(-1);
    expect((await send('PATCH', `/${id}`, { a: 3 })).text).toBe('');
    expect((await table.send('GET', `/${id}`)).body.a).toBe(3);
    expect((await send('DELETE', `/${id}`)).status).toBe(204);
  });

  test('to a role: tenant_member is everyone in the tenant, tenant_admin only the admins', async () => {
    const [forAll, forAdmins] = [await world.table(['a:int']), await world.table(['a:int'])];
    await grant(forAll, 'role', 'tenant_member', ['read']);
    await grant(forAdmins, 'role', 'tenant_admin', ['read', 'write']);
    for (const person of [member, admin]) expect((await as(person, forAll)('GET')).status).toBe(200);
    expect((await as(admin, forAdmins)('POST', '', { a: 1 })).status).toBe(201);
    await sameAsAbsent(as(member, forAdmins), forAdmins, bearer(member));
    await sameAsAbsent(as(world.tenant.outsider, forAll), forAll, bearer(world.tenant.outsider));
  });

  test('to an app gives its owners access to the table until it is revoked', async () => {
    const table = await world.table(['a:int']);
    const theirs = await newApp(world.tenant, { owner: member, coOwner: member });
    // Private: the table’s owner must see the app to reference it; an admin’s view is not enough.
    const unseen = await table.shape('POST', '/grants', {
      principal_type: 'app',
      principal_id: theirs.id,
      actions: ['read'],
    });
    expect(unseen.status).toBe(400);
    const added = await member.call('POST', `${world.tenant.base}/apps/${theirs.id}/co-owners`, {
      user_id: world.owner.id,
    });
    expect(added.status).toBe(201);
    const id = await grant(table, 'app', theirs.id, ['read']);
    expect((await as(member, table)('GET')).status).toBe(200);
    expect((await as(member, table)('POST', '', { a: 1 })).status).toBe(403);
    await sameAsAbsent(as(admin, table), table, bearer(admin));
    await table.shape('DELETE', `/grants/${id}`);
    await gone(as(member, table));
  });

  test('several grants add up', async () => {
    const table = await world.table(['a:int']);
    await grant(table, 'role', 'tenant_member', ['read']);
    await grant(table, 'user', member.id, ['write']);
    expect((await as(member, table)('POST', '', { a: 1 })).body.a).toBe(1);
  });
});

describe('a token', () => {
  test('for certain apps gives access to their tables, and others look like unknown ones', async () => {
    const table = await world.table(['a:int']);
    const other = await newApp(world.tenant, { owner: world.owner, coOwner: world.owner });
    const [there, elsewhere] = await Promise.all(
      [world.app.id, other.id].map(async (app) => ({
        'x-api-key': await world.pat(world.owner, { apps: [app] }),
      })),
    );
    expect((await world.as(there!, table)('GET')).status).toBe(200);
    await sameAsAbsent(world.as(elsewhere!, table), table, elsewhere!);
  });

  test('allows what its issuer may do at that moment', async () => {
    const table = await world.table(['a:int']);
    const send = world.as({ 'x-api-key': await world.pat(member) }, table);
    expect((await send('GET')).status).toBe(404);
    const id = await grant(table, 'user', member.id, ['read']);
    expect([(await send('GET')).status, (await send('POST', '', { a: 1 })).status]).toEqual([200, 403]);
    await table.shape('DELETE', `/grants/${id}`);
    await gone(send);
  });
});

test('an archived app’s rows can be read, and any write is 409, by login and by token', async () => {
  // Archiving stops a running app: the error names the archived state first.
  for (const runtime of ['none', 'suspended']) {
    const own = await rowsWorld(world.server);
    const table = await own.table(['a:int']);
    const [row] = await table.insert({ a: 1 });
    const database = openServerDatabase(world.server);
    await database.query(`update svc.apps set record = 'archived', runtime = $2 where id = $1`, [
      own.app.id,
      runtime,
    ]);
    await database.close();
    for (const credential of [{ 'x-api-key': await own.pat(own.owner) }, bearer(own.owner)]) {
      // By its id: the cached table is found by its name.
      const send = caller(world.server, credential, `/data/${own.tenant.id}/${own.app.id}/${table.name}`);
      expect((await send('GET', `/${row.id}`)).body).toEqual(row);
      expect((await send('GET', '/_count')).body).toEqual({ count: 1 });
      for (const [method, path, body] of [
        ['POST', '', { a: 1 }],
        ['POST', '', '{"a":1}\n{"a":2}'],
        ['POST', '?dry_run=true', { a: 1 }],
        ['PATCH', `/${row.id}`, { a: 1 }],
        ['DELETE', `/${row.id}`, undefined],
      ] as const) {
        const answer = await send(method, path, body);
        expect([runtime, answer.status, answer.body.code]).toEqual([runtime, 409, 'app_not_active']);
      }
    }
  }
});
