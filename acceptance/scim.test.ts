import { describe, expect, test } from 'bun:test';
import { admin } from './support/commands.ts';
import { letters } from './support/document.ts';
import { caller, done, newTenant } from './support/people.ts';
import {
  address,
  filterPath,
  isScimError,
  newTenantWithDirectory,
  newUser,
  patchOf,
} from './support/scim.ts';
import { newWorld } from './support/world.ts';

describe('the token of a directory', () => {
  test('is listed without its secret and ends when it is revoked', async () => {
    const { t, directory } = await newTenantWithDirectory();
    await directory.done('GET', '/Users');
    const { items } = (await admin(t.server, ['scim-token', 'list', t.slug])) as unknown as {
      items: Record<string, unknown>[];
    };
    expect(items).toMatchObject([{ id: directory.tokenId, name: 'directory', status: 'active' }]);
    expect(JSON.stringify(items)).not.toContain('svcscim_');
    await admin(t.server, ['scim-token', 'revoke', t.slug, directory.tokenId]);
    const answer = await directory.call('GET', '/Users');
    expect([answer.status, answer.headers.get('www-authenticate'), isScimError(answer)]).toEqual([
      401,
      'Bearer',
      true,
    ]);
  });

  test('is the only credential here, and is none for the rest of the API', async () => {
    const world = await newWorld();
    const { token } = await admin(world.tenant.server, ['scim-token', 'create', world.tenant.slug]);
    const document = (await world.as.N('GET', '/api/v1/openapi.json')).body;
    const operations = Object.entries<Record<string, { security: unknown }>>(document.paths)
      .filter(([path]) => path.startsWith('/scim/v2/'))
      .flatMap(([path, methods]) => Object.entries(methods).map(([method, it]) => ({ path, method, ...it })));
    expect(operations).toHaveLength(20);
    for (const { path, method, security } of operations) {
      expect([path, security]).toEqual([path, [{ scim: [] }]]);
      const at = path.replace('{id}', Bun.randomUUIDv7());
      const body = ['post', 'put', 'patch'].includes(method) ? {} : undefined;
      for (const letter of letters) {
        const answer = await world.as[letter](method.toUpperCase(), at, body);
        expect([path, letter, answer.status, isScimError(answer)]).toEqual([path, letter, 401, true]);
      }
    }
    const directory = caller(world.tenant.server, { authorization: `Bearer ${token}` });
    for (const path of ['/api/v1/me', `${world.tenant.base}/members`, `/data/${world.tenant.slug}/a/b`])
      expect((await directory('GET', path)).status).toBe(401);
  });

  test('sees and changes people and groups of its own tenant only', async () => {
    const { t, directory } = await newTenantWithDirectory();
    const other = await newTenantWithDirectory();
    const group = await other.directory.done('POST', '/Groups', { displayName: 'Others' });
    for (const path of [`/Users/${other.t.member.id}`, `/Groups/${group.id}`])
      for (const [method, body] of [
        ['GET'],
        ['PUT', { userName: address(), displayName: 'Mine' }],
        ['PATCH', patchOf({ op: 'replace', value: { active: false } })],
        ['DELETE'],
      ] as const)
        expect([path, method, (await directory.call(method, path, body)).status]).toEqual([
          path,
          method,
          404,
        ]);
    const { Resources } = await directory.done('GET', '/Users');
    expect(Resources.map(({ id }: { id: string }) => id).sort()).toEqual([t.admin.id, t.member.id].sort());
    const stranger = await directory.call('POST', '/Groups', {
      displayName: 'Mine',
      members: [{ value: other.t.member.id }],
    });
    expect([stranger.status, stranger.body.scimType]).toEqual([400, 'invalidValue']);
  });
});

test('a directory learns what is supported', async () => {
  const { directory } = await newTenantWithDirectory();
  const config = await directory.done('GET', '/ServiceProviderConfig');
  for (const name of ['patch', 'filter', 'bulk', 'sort', 'etag'])
    expect([name, config[name].supported]).toEqual([name, true]);
  const types = await directory.done('GET', '/ResourceTypes');
  expect(types.Resources.map(({ endpoint }: { endpoint: string }) => endpoint)).toEqual([
    '/Users',
    '/Groups',
  ]);
  const schemas = await directory.done('GET', '/Schemas');
  for (const { id } of schemas.Resources)
    expect((await directory.done('GET', `/Schemas/${encodeURIComponent(id)}`)).id).toBe(id);
  const unknown = await directory.call('GET', '/Nothing');
  expect([unknown.status, isScimError(unknown)]).toEqual([404, true]);
});

describe('a user', () => {
  test('is created as a member, found, replaced and deleted', async () => {
    const { t, directory } = await newTenantWithDirectory();
    const user = await newUser(directory);
    expect(user).toMatchObject({
      schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
      name: { givenName: 'Test', familyName: 'User' },
      active: true,
      meta: { resourceType: 'User', location: `${t.server.baseUrl}/scim/v2/Users/${user.id}` },
    });
    const { items } = await done(t.admin.call('GET', `${t.base}/members?q=${user.userName}`));
    expect(items).toMatchObject([{ user_id: user.id, role: 'tenant_member', status: 'active' }]);
    const again = await directory.call('POST', '/Users', { userName: user.userName.toUpperCase() });
    expect([again.status, again.body.scimType, isScimError(again)]).toEqual([409, 'uniqueness', true]);
    const replaced = await directory.done('PUT', `/Users/${user.id}`, {
      ...user,
      displayName: 'Another Name',
    });
    expect(replaced).toMatchObject({ id: user.id, displayName: 'Another Name', active: true });
    expect((await done(t.admin.call('GET', `${t.base}/members?q=another`))).items).toHaveLength(1);
    expect((await directory.call('DELETE', `/Users/${user.id}`)).status).toBe(204);
    expect((await directory.call('GET', `/Users/${user.id}`)).status).toBe(404);
    expect((await directory.call('DELETE', `/Users/${user.id}`)).status).toBe(404);
    const audit = await done(t.admin.call('GET', `${t.base}/audit?target_id=${user.id}`));
    expect(audit.items[0].actor).toEqual({ kind: 'scim', id: directory.tokenId, name: 'directory' });
    expect(audit.items.map(({ action }: { action: string }) => action)).toContain('members.deactivate');
  });

  test('is found by filters and pages', async () => {
    const { t, directory } = await newTenantWithDirectory();
    const user = await newUser(directory);
    const ids = async (filter: string) =>
      (await directory.done('GET', filterPath('Users', filter))).Resources.map(
        ({ id }: { id: string }) => id,
      );
    for (const filter of [
      `userName eq "${user.userName}"`,
      `USERNAME Eq "${user.userName.toUpperCase()}"`,
      `externalId eq "${user.externalId}"`,
      `urn:ietf:params:scim:schemas:core:2.0:User:userName eq "${user.userName}"`,
      `emails[type eq "work"].value eq "${user.userName}"`,
      `displayName eq "test user" and active eq true`,
      `externalId eq "no" or (userName sw "${user.userName.slice(0, 20)}" and not (active eq false))`,
    ])
      expect([filter, await ids(filter)]).toEqual([filter, [user.id]]);
    expect(await ids(`externalId eq "${user.externalId.toUpperCase()}"`)).toEqual([]);
    expect(await ids(`userName eq "${t.member.email}"`)).toEqual([t.member.id]);
    for (const filter of [
      'userName',
      'userName eq',
      'userName xx "a"',
      'shoeSize eq "4"',
      '(userName eq "a"',
    ]) {
      const refused = await directory.call('GET', filterPath('Users', filter));
      expect([filter, refused.status, refused.body.scimType]).toEqual([filter, 400, 'invalidFilter']);
    }
    const page = await directory.done('GET', '/Users?startIndex=2&count=1');
    expect([page.totalResults, page.startIndex, page.itemsPerPage]).toEqual([3, 2, 1]);
    const none = await directory.done('GET', '/Users?count=0');
    expect([none.totalResults, none.Resources]).toEqual([3, []]);
    const narrow = await directory.done('GET', `/Users/${user.id}?attributes=userName`);
    expect(Object.keys(narrow).sort()).toEqual(['id', 'schemas', 'userName']);
  });

  test('is changed by the PATCH requests that Okta and Entra send', async () => {
    const { directory } = await newTenantWithDirectory();
    const { id } = await newUser(directory);
    const patch = (...operations: object[]) =>
      directory.done('PATCH', `/Users/${id}`, patchOf(...operations));
    expect((await patch({ op: 'replace', value: { active: false } })).active).toBe(false);
    expect((await patch({ op: 'Replace', path: 'active', value: 'True' })).active).toBe(true);
    expect((await patch({ op: 'Add', path: 'active', value: [{ value: 'False' }] })).active).toBe(false);
    expect(
      (await patch({ op: 'replace', value: { active: 'true', 'name.familyName': 'Berg' } })).name,
    ).toMatchObject({ givenName: 'Test', familyName: 'Berg' });
    const mail = address();
    const changed = await patch(
      { op: 'Replace', path: 'emails[type eq "work"].value', value: mail },
      { op: 'Add', path: 'emails[type eq "home"].value', value: 'home@example.test' },
      { op: 'Replace', path: 'name.givenName', value: 'Anna' },
      {
        op: 'Add',
        path: 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department',
        value: 'Ops',
      },
      { op: 'Remove', path: 'externalId' },
    );
    expect(changed.emails).toEqual([
      { value: mail, type: 'work', primary: true },
      { value: 'home@example.test', type: 'home', primary: false },
    ]);
    expect([changed.name.givenName, changed.externalId]).toEqual(['Anna', undefined]);
    for (const [operation, scimType] of [
      [{ op: 'remove' }, 'noTarget'],
      [{ op: 'explode', path: 'active' }, 'invalidSyntax'],
      [{ op: 'replace', path: 'active', value: 'perhaps' }, 'invalidValue'],
      [{ op: 'replace', path: '[', value: 1 }, 'invalidPath'],
    ] as const) {
      const refused = await directory.call('PATCH', `/Users/${id}`, patchOf(operation));
      expect([operation.op, refused.status, refused.body.scimType]).toEqual([operation.op, 400, scimType]);
    }
  });

  test('who has an account in another tenant joins with it, and keeps their own name and address', async () => {
    const { t, directory } = await newTenantWithDirectory();
    const other = await newTenant();
    const user = await newUser(directory, {
      userName: other.member.email,
      emails: [],
      displayName: 'Theirs',
    });
    expect(user).toMatchObject({ id: other.member.id, displayName: 'Theirs' });
    await directory.done(
      'PATCH',
      `/Users/${user.id}`,
      patchOf({ op: 'replace', value: { userName: address() } }),
    );
    expect((await done(other.member.call('GET', '/api/v1/me'))).email).toBe(other.member.email);
    for (const active of [false, true, false])
      await directory.done('PATCH', `/Users/${user.id}`, patchOf({ op: 'replace', value: { active } }));
    await directory.done('DELETE', `/Users/${user.id}`);
    // Nor is the person signed out of the other tenant.
    expect((await other.member.call('GET', other.base)).status).toBe(200);
    expect((await other.member.call('GET', t.base)).status).toBe(404);
  });

  test('has no invisible or text-direction characters in its names, nor has a group', async () => {
    const { directory } = await newTenantWithDirectory();
    const { id } = await newUser(directory);
    for (const odd of ['a\u001b[2Jb', 'a\u202eb', 'a\u2066b', 'a\u200bb'])
      for (const [method, path, body] of [
        ['POST', '/Users', { userName: address(), displayName: odd }],
        ['POST', '/Users', { userName: `${odd}${address()}` }],
        ['PATCH', `/Users/${id}`, patchOf({ op: 'replace', path: 'name.familyName', value: odd })],
        ['POST', '/Groups', { displayName: odd }],
      ] as const) {
        const refused = await directory.call(method, path, body);
        expect([path, refused.status, refused.body.scimType]).toEqual([path, 400, 'invalidValue']);
      }
  });

  test('is refused without a usable name or address', async () => {
    const { t, directory } = await newTenantWithDirectory();
    for (const body of [
      {},
      { userName: 'no-address' },
      { userName: t.outsider.id },
      { userName: 4 },
      [],
      'text',
    ]) {
      const refused = await directory.call('POST', '/Users', JSON.stringify(body));
      expect([body, refused.status, isScimError(refused)]).toEqual([body, 400, true]);
    }
    const malformed = await directory.call('POST', '/Users', '{');
    expect([malformed.status, malformed.body.scimType]).toEqual([400, 'invalidSyntax']);
  });
});
