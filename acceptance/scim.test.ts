import { describe, expect, test } from 'bun:test';
import { admin } from './support/commands.ts';
import { letters } from './support/document.ts';
import {
  type Answered,
  caller,
  done,
  newApp,
  newMember,
  newTenant,
  type Tenant,
  uniqueName,
  withToken,
} from './support/people.ts';
import { type Directory, newDirectory, patchOf } from './support/scim.ts';
import { until } from './support/until.ts';
import { newWorld } from './support/world.ts';

const address = () => `${uniqueName('s')}@example.test`;
const found = (name: string, filter: string) => `/${name}?filter=${encodeURIComponent(filter)}`;

/** As Okta creates a user. */
const newUser = (directory: Directory, fields: object = {}) => {
  const userName = address();
  return directory.done('POST', '/Users', {
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
    userName,
    name: { givenName: 'Test', familyName: 'User' },
    emails: [{ primary: true, value: userName, type: 'work' }],
    displayName: 'Test User',
    locale: 'en-US',
    externalId: uniqueName('00u'),
    groups: [],
    active: true,
    ...fields,
  });
};

async function newTenantWithDirectory(): Promise<{ t: Tenant; directory: Directory }> {
  const t = await newTenant();
  return { t, directory: await newDirectory(t) };
}

function isScimError({ status, headers, body }: Answered): boolean {
  return (
    headers.get('content-type') === 'application/scim+json' &&
    body.schemas?.[0] === 'urn:ietf:params:scim:api:messages:2.0:Error' &&
    body.status === String(status) &&
    typeof body.detail === 'string'
  );
}

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
    expect(operations).toHaveLength(17);
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
  expect([config.patch.supported, config.filter.supported, config.bulk.supported]).toEqual([
    true,
    true,
    false,
  ]);
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
      (await directory.done('GET', found('Users', filter))).Resources.map(({ id }: { id: string }) => id);
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
      const refused = await directory.call('GET', found('Users', filter));
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
    await directory.done('DELETE', `/Users/${user.id}`);
    const back = await withToken(other.server, other.member);
    expect((await back.call('GET', other.base)).status).toBe(200);
    expect((await back.call('GET', t.base)).status).toBe(404);
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

describe('a deactivated user', () => {
  for (const how of ['PATCH', 'DELETE'] as const)
    test(`loses sessions, tokens, grants, invitations and table grants (${how})`, async () => {
      const { t, directory } = await newTenantWithDirectory();
      const person = await newMember(t);
      const owner = await newMember(t);
      const app = await newApp(t, { owner });
      await done(owner.call('POST', `${app.base}/tables`, { name: 'notes', columns: ['body:text'] }));
      const tableGrant = { principal_type: 'user', principal_id: person.id, actions: ['read'] };
      await done(owner.call('POST', `${app.base}/tables/notes/grants`, tableGrant));
      await done(owner.call('POST', `${app.base}/members`, { user_id: person.id }));
      const connector = await done(
        t.admin.call('POST', `${t.base}/connectors`, { name: uniqueName('c'), kind: 'http' }),
      );
      const grant = await done(
        t.admin.call('POST', `${t.base}/grants`, {
          subject_id: person.id,
          connector_id: connector.id,
          preset_id: 'reader',
        }),
      );
      const pat = await done(person.call('POST', `${t.base}/pats`, { name: 'rows' }));
      const rows = () =>
        caller(t.server, { 'x-api-key': pat.secret })('GET', `/data/${t.slug}/${app.slug}/notes`);
      expect((await rows()).status).toBe(200);

      if (how === 'PATCH')
        await directory.done(
          'PATCH',
          `/Users/${person.id}`,
          patchOf({ op: 'Replace', path: 'active', value: 'False' }),
        );
      else await directory.done('DELETE', `/Users/${person.id}`);
      await until(
        'the session has ended',
        async () => (await person.call('GET', '/api/v1/me')).status === 401,
      );
      await until('the token has ended', async () => (await rows()).status === 401);
      expect((await done(t.admin.call('GET', `${t.base}/grants/${grant.id}`))).status).toBe('revoked');
      expect((await done(owner.call('GET', `${app.base}/members`))).total).toBe(1);
      expect((await done(owner.call('GET', `${app.base}/tables/notes/grants`))).total).toBe(0);

      const again = await withToken(t.server, person);
      expect((await again.call('GET', t.base)).status).toBe(404);
      expect((await done(again.call('GET', '/api/v1/me'))).tenants).toEqual([]);
      if (how === 'DELETE') return;

      const { items } = await done(t.admin.call('GET', `${t.base}/members?q=${person.email}`));
      expect(items).toMatchObject([{ status: 'deactivated' }]);
      const granted = { subject_id: person.id, connector_id: connector.id, preset_id: 'reader' };
      expect((await t.admin.call('POST', `${t.base}/grants`, granted)).status).toBe(400);
      await directory.done(
        'PATCH',
        `/Users/${person.id}`,
        patchOf({ op: 'replace', value: { active: true } }),
      );
      await until('the member is back', async () => (await again.call('GET', t.base)).status === 200);
      expect((await person.call('GET', '/api/v1/me')).status).toBe(401);
      expect((await rows()).status).toBe(401);
      expect(await done(again.call('GET', `${t.base}/me/grants`))).toEqual([]);
    });

  test('leaves groups that are edited by hand, and has nothing from those of the directory until activated', async () => {
    const { t, directory } = await newTenantWithDirectory();
    const local = await done(t.admin.call('POST', `${t.base}/groups`, { name: uniqueName('g') }));
    await done(t.admin.call('POST', `${t.base}/groups/${local.id}/members`, { user_id: t.member.id }));
    const group = await directory.done('POST', '/Groups', {
      displayName: 'Staff',
      members: [{ value: t.member.id }],
    });
    const connector = await done(
      t.admin.call('POST', `${t.base}/connectors`, { name: uniqueName('c'), kind: 'http' }),
    );
    const given = {
      subject_kind: 'group',
      subject_id: group.id,
      connector_id: connector.id,
      preset_id: 'reader',
    };
    await done(t.admin.call('POST', `${t.base}/grants`, given));
    const check = { subject_id: t.member.id, connector_id: connector.id, action: 'read' };
    const isAllowed = async () =>
      (await done(t.admin.call('POST', `${t.base}/access/check`, check))).allowed as boolean;
    expect(await isAllowed()).toBe(true);
    const setActive = (active: boolean) =>
      directory.done('PATCH', `/Users/${t.member.id}`, patchOf({ op: 'replace', value: { active } }));
    await setActive(false);
    expect(await isAllowed()).toBe(false);
    expect((await done(t.admin.call('GET', `${t.base}/groups/${local.id}`))).member_count).toBe(0);
    await setActive(true);
    expect(await isAllowed()).toBe(true);
  });
});

describe('a group of a directory', () => {
  test('is created, found, changed by the PATCH requests of Okta and Entra, and deleted', async () => {
    const { t, directory } = await newTenantWithDirectory();
    const [ada, bob] = [await newUser(directory), await newUser(directory)];
    const group = await directory.done('POST', '/Groups', {
      schemas: ['urn:ietf:params:scim:schemas:core:2.0:Group'],
      displayName: 'Platform Team (EU)',
      externalId: 'ext-1',
      members: [{ value: ada.id, display: 'Ada' }],
    });
    const at = `/Groups/${group.id}`;
    const members = async () =>
      (await directory.done('GET', at)).members.map(({ value }: { value: string }) => value).sort();
    const patch = (...operations: object[]) => directory.done('PATCH', at, patchOf(...operations));
    expect(await members()).toEqual([ada.id]);
    expect((await directory.done('GET', `/Users/${ada.id}`)).groups).toMatchObject([
      { value: group.id, display: 'Platform Team (EU)' },
    ]);
    for (const filter of [
      'displayName eq "platform team (eu)"',
      'externalId eq "ext-1"',
      `id eq "${group.id}" and members eq "${ada.id}"`,
      `members[value eq "${ada.id}"]`,
    ])
      expect((await directory.done('GET', found('Groups', filter))).totalResults).toBe(1);
    const brief = await directory.done('GET', `${at}?excludedAttributes=members`);
    expect([brief.displayName, brief.members]).toEqual(['Platform Team (EU)', undefined]);

    await patch({ op: 'add', path: 'members', value: [{ value: bob.id, display: bob.userName }] });
    expect(await members()).toEqual([ada.id, bob.id].sort());
    await patch({ op: 'remove', path: `members[value eq "${ada.id}"]` });
    expect(await members()).toEqual([bob.id]);
    await patch({ op: 'Add', path: 'members', value: [{ $ref: null, value: ada.id }] });
    await patch({ op: 'Remove', path: 'members', value: [{ $ref: null, value: bob.id }] });
    expect(await members()).toEqual([ada.id]);
    await patch({ op: 'replace', value: { id: group.id, displayName: 'Platform' } });
    await patch({ op: 'replace', path: 'members', value: [{ value: bob.id }] });
    expect([await members(), (await directory.done('GET', at)).displayName]).toEqual([[bob.id], 'Platform']);
    await patch({ op: 'remove', path: 'members' });
    expect(await members()).toEqual([]);
    await directory.done('PUT', at, { displayName: 'Platform', members: [{ value: ada.id }] });
    expect(await members()).toEqual([ada.id]);

    const listed = await done(t.admin.call('GET', `${t.base}/groups`));
    expect(listed.items).toMatchObject([
      { id: group.id, name: 'platform-team-eu', display_name: 'Platform', source: 'scim', member_count: 1 },
    ]);
    const twice = await directory.call('POST', '/Groups', { displayName: 'PLATFORM' });
    expect([twice.status, twice.body.scimType]).toEqual([409, 'uniqueness']);
    expect((await directory.call('DELETE', at)).status).toBe(204);
    expect((await directory.call('GET', at)).status).toBe(404);
  });

  test('is not edited by hand, and groups made by hand are none of the directory', async () => {
    const { t, directory } = await newTenantWithDirectory();
    const name = uniqueName('g');
    const local = await done(t.admin.call('POST', `${t.base}/groups`, { name }));
    expect((await directory.done('GET', '/Groups')).totalResults).toBe(0);
    expect((await directory.call('DELETE', `/Groups/${local.id}`)).status).toBe(404);
    const group = await directory.done('POST', '/Groups', { displayName: name });
    const at = `${t.base}/groups/${group.id}`;
    expect((await done(t.admin.call('GET', at))).name).toBe(`${name}-2`);
    for (const refused of [
      await t.admin.call('PATCH', at, { description: 'mine' }),
      await t.admin.call('POST', `${at}/members`, { user_id: t.member.id }),
      await t.admin.call('DELETE', `${at}/members/${t.member.id}`),
    ])
      expect([refused.status, refused.body.code]).toEqual([409, 'group_managed']);
    expect((await t.admin.call('DELETE', at)).status).toBe(204);
  });
});
