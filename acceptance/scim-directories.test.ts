import { describe, expect, test } from 'bun:test';
import { done, uniqueName } from './support/people.ts';
import {
  address,
  type Directory,
  filterPath,
  isScimError,
  newTenantWithDirectory,
  oktaUser,
} from './support/scim.ts';

/** Requests as the public documentation of Okta and of Microsoft Entra ID shows them, in the order of a provisioning run. */
const core = 'urn:ietf:params:scim:schemas:core:2.0:User';
const enterprise = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User';
const groupSchema = 'urn:ietf:params:scim:schemas:core:2.0:Group';
const patchSchema = 'urn:ietf:params:scim:api:messages:2.0:PatchOp';
const listSchema = 'urn:ietf:params:scim:api:messages:2.0:ListResponse';

const idsOf = (list: { Resources: { id: string }[] }) => list.Resources.map(({ id }) => id);
const membersOf = ({ members }: { members: { value: string }[] }) => members.map(({ value }) => value).sort();

/** Okta names itself and accepts both media types. */
const okta = (directory: Directory) => async (method: string, path: string, body?: object) => {
  const headers = { 'user-agent': 'Okta SCIM Client 1.0.0', accept: 'application/scim+json' };
  const type = body ? { 'content-type': 'application/scim+json; charset=utf-8' } : {};
  return directory.call(method, path, body, { ...headers, ...type } as Record<string, string>);
};

describe('Okta', () => {
  const userOf = (userName: string) => ({ ...oktaUser(userName), password: '1mz050nq' });

  test('provisions a user: test of the connection, search, creation, update, deactivation, return', async () => {
    const { t, directory } = await newTenantWithDirectory();
    const call = okta(directory);
    const test = await call('GET', '/Users?startIndex=1&count=2');
    expect([test.status, test.body.itemsPerPage]).toEqual([200, 2]);
    expect((await call('GET', '/Groups?startIndex=1&count=100')).body.totalResults).toBe(0);

    const user = userOf(address());
    const byName = `/Users?filter=${encodeURIComponent(`userName eq "${user.userName}"`)}&startIndex=1&count=100`;
    expect((await call('GET', byName)).body).toEqual({
      schemas: [listSchema],
      totalResults: 0,
      startIndex: 1,
      itemsPerPage: 0,
      Resources: [],
    });
    const created = await call('POST', '/Users', user);
    expect(created.status).toBe(201);
    const { password: _, ...shown } = user;
    expect(created.body).toMatchObject(shown);
    const { id } = created.body;
    expect(created.headers.get('location')).toBe(`${t.server.baseUrl}/scim/v2/Users/${id}`);
    expect(idsOf((await call('GET', byName)).body)).toEqual([id]);
    const again = await call('POST', '/Users', userOf(user.userName));
    expect([again.status, again.body.scimType, isScimError(again)]).toEqual([409, 'uniqueness', true]);

    // Okta reads the user, changes the whole and sends it back.
    const read = (await call('GET', `/Users/${id}`)).body;
    const changed = {
      ...read,
      name: { givenName: 'Another', middleName: 'Excited', familyName: 'User' },
      emails: [{ primary: true, value: user.userName, type: 'work', display: user.userName }],
      displayName: 'Another User',
    };
    const put = await call('PUT', `/Users/${id}`, changed);
    const { meta: _meta, ...stored } = changed;
    expect([put.status, put.body]).toMatchObject([200, stored]);
    const emptied = await call('PUT', `/Users/${id}`, {
      ...changed,
      name: { givenName: 'Another', middleName: '', familyName: 'User' },
    });
    expect([emptied.status, emptied.body.name.middleName]).toEqual([200, undefined]);
    const { items } = await done(t.admin.call('GET', `${t.base}/members?q=${user.userName}`));
    expect(items).toMatchObject([{ name: 'Another User', status: 'active' }]);

    const patch = (value: object) =>
      call('PATCH', `/Users/${id}`, { schemas: [patchSchema], Operations: [{ op: 'replace', value }] });
    expect((await patch({ active: false })).body.active).toBe(false);
    // A new password is accepted and stored nowhere: people sign in through Okta.
    const password = await patch({ password: 'new-password' });
    expect([password.status, password.text.includes('new-password')]).toEqual([200, false]);
    expect((await patch({ active: true })).body.active).toBe(true);
    // An integration that an administrator makes with the wizard of Okta sends the whole user instead.
    for (const active of [false, true])
      expect((await call('PUT', `/Users/${id}`, { ...changed, active })).body.active).toBe(active);
  });

  test('pushes a group: creation, rename, members by PATCH and by PUT, deletion', async () => {
    const { directory } = await newTenantWithDirectory();
    const call = okta(directory);
    const [first, second] = [
      (await call('POST', '/Users', userOf(address()))).body,
      (await call('POST', '/Users', userOf(address()))).body,
    ];
    const displayName = uniqueName('Test SCIMv2');
    const created = await call('POST', '/Groups', { schemas: [groupSchema], displayName, members: [] });
    expect([created.status, created.body.displayName]).toEqual([201, displayName]);
    const { id } = created.body;
    // "The SCIM server response to PATCH method requests can also be a HTTP 204 response, with no body returned."
    const patched = async (...Operations: object[]) => {
      const { status, text } = await call('PATCH', `/Groups/${id}`, { schemas: [patchSchema], Operations });
      expect([status, text]).toEqual([204, '']);
      return (await call('GET', `/Groups/${id}`)).body;
    };
    const renamed = await patched({ op: 'replace', value: { id, displayName: `${displayName} 2` } });
    expect(renamed.displayName).toBe(`${displayName} 2`);
    const display = first.userName;
    const added = await patched({ op: 'add', path: 'members', value: [{ value: first.id, display }] });
    expect(membersOf(added)).toEqual([first.id]);
    const swapped = await patched(
      { op: 'remove', path: `members[value eq "${first.id}"]` },
      { op: 'add', path: 'members', value: [{ value: second.id, display: second.userName }] },
    );
    expect(membersOf(swapped)).toEqual([second.id]);
    const replaced = await patched({ op: 'replace', path: 'members', value: [{ value: first.id, display }] });
    expect(membersOf(replaced)).toEqual([first.id]);
    const put = await call('PUT', `/Groups/${id}`, {
      schemas: [groupSchema],
      id,
      displayName,
      members: [
        { value: first.id, display },
        { value: second.id, display: second.userName },
      ],
    });
    expect([put.status, membersOf(put.body)]).toEqual([200, [first.id, second.id].sort()]);
    expect((await call('DELETE', `/Groups/${id}`)).status).toBe(204);
    expect((await call('GET', `/Groups/${id}`)).status).toBe(404);
  });
});

describe('Microsoft Entra ID', () => {
  const userOf = (name: string) => ({
    schemas: [core, enterprise],
    externalId: crypto.randomUUID(),
    userName: `Test_User_${name}`,
    active: true,
    emails: [{ primary: true, type: 'work', value: `Test_User_${name}@testuser.com` }],
    meta: { resourceType: 'User' },
    name: { formatted: 'givenName familyName', familyName: 'familyName', givenName: 'givenName' },
    roles: [],
  });
  const patchOf = (...Operations: object[]) => ({ schemas: [patchSchema], Operations });

  test('tests the connection with a user that does not exist', async () => {
    const { directory } = await newTenantWithDirectory();
    const filter = `userName eq "${crypto.randomUUID()}"`;
    const answer = await directory.call('GET', filterPath('Users', filter));
    expect([answer.status, answer.body.totalResults, answer.body.Resources]).toEqual([200, 0, []]);
    const missing = await directory.call('GET', `/Users/${crypto.randomUUID().replaceAll('-', '')}`);
    expect([missing.status, isScimError(missing)]).toEqual([404, true]);
  });

  test('provisions a user, whose userName need not be an address', async () => {
    const { t, directory } = await newTenantWithDirectory();
    const user = userOf(crypto.randomUUID());
    const created = await directory.done('POST', '/Users', user);
    const { roles: _, schemas: __, ...shown } = user;
    expect(created).toMatchObject(shown);
    const path = `/Users/${created.id}`;
    for (const filter of [
      `userName eq "${user.userName}"`,
      `externalId eq "${user.externalId}"`,
      `emails[type eq "work"].value eq "${user.emails[0]!.value}"`,
      `userName eq "${user.userName}" and active eq true`,
    ])
      expect([filter, idsOf(await directory.done('GET', filterPath('Users', filter)))]).toEqual([
        filter,
        [created.id],
      ]);

    const updated = address();
    const changed = await directory.done(
      'PATCH',
      path,
      patchOf(
        { op: 'Replace', path: 'emails[type eq "work"].value', value: updated },
        { op: 'Replace', path: 'name.familyName', value: 'updatedFamilyName' },
      ),
    );
    expect([changed.emails[0].value, changed.name.familyName]).toEqual([updated, 'updatedFamilyName']);
    const { items } = await done(t.admin.call('GET', `${t.base}/members?q=${updated}`));
    expect(items).toMatchObject([{ user_id: created.id }]);
    const userName = `${crypto.randomUUID()}@contoso.com`;
    const renamed = await directory.done(
      'PATCH',
      path,
      patchOf({ op: 'Replace', path: 'userName', value: userName }),
    );
    expect(renamed.userName).toBe(userName);
    for (const value of ['False', false]) {
      const off = await directory.done('PATCH', path, patchOf({ op: 'Replace', path: 'active', value }));
      expect(off.active).toBe(false);
      const on = await directory.done(
        'PATCH',
        path,
        patchOf({ op: 'Add', path: 'active', value: [{ value: 'True' }] }),
      );
      expect(on.active).toBe(true);
    }
    expect((await directory.call('DELETE', path)).status).toBe(204);
    expect(idsOf(await directory.done('GET', filterPath('Users', `userName eq "${userName}"`)))).toEqual([]);
    // Assigned again.
    expect((await directory.call('POST', '/Users', { ...user, userName })).status).toBe(201);
  });

  test('provisions a user with null for what is not mapped, and a schema that is misspelt', async () => {
    const { directory } = await newTenantWithDirectory();
    const name = uniqueName('jyoung');
    const created = await directory.call('POST', '/Users', {
      schemas: [core, 'urn:ietf:params:scim:schemas:extension:enterprise:2.0User'],
      externalId: name,
      userName: `${name}@testuser.com`,
      active: true,
      addresses: null,
      displayName: 'Joy Young',
      emails: [{ type: 'work', value: `${name}@contoso.com`, primary: true }],
      meta: { resourceType: 'User' },
      name: { familyName: 'Young', givenName: 'Joy' },
      phoneNumbers: null,
      preferredLanguage: null,
      title: null,
      department: null,
      manager: null,
    });
    expect([created.status, created.body]).toMatchObject([
      201,
      { schemas: [core], externalId: name, displayName: 'Joy Young', active: true },
    ]);
    expect(created.text).not.toContain('null');
  });

  test('removes values by empty texts and by null, and leaves others', async () => {
    const { directory } = await newTenantWithDirectory();
    const { id } = await directory.done('POST', '/Users', {
      ...userOf(crypto.randomUUID()),
      title: 'Director',
      nickName: 'Babs',
      phoneNumbers: [{ type: 'mobile', value: '+49 170 1' }],
      [enterprise]: { department: 'Sales', division: 'North', manager: { value: crypto.randomUUID() } },
    });
    for (const value of ['', null]) {
      const emptied = await directory.done(
        'PATCH',
        `/Users/${id}`,
        patchOf(
          { op: 'Replace', path: 'title', value },
          { op: 'Replace', path: `${enterprise}:department`, value },
          { op: 'Replace', path: `${enterprise}:manager`, value },
          { op: 'Add', path: 'phoneNumbers[type eq "mobile"].value', value },
        ),
      );
      expect([emptied.title, emptied.nickName, emptied[enterprise]]).toEqual([
        undefined,
        'Babs',
        { division: 'North' },
      ]);
    }
  });

  test('writes mapped attributes one by one, also values that do not exist yet, and a manager', async () => {
    const { directory } = await newTenantWithDirectory();
    const [{ id }, boss] = [
      await directory.done('POST', '/Users', userOf(crypto.randomUUID())),
      await directory.done('POST', '/Users', userOf(crypto.randomUUID())),
    ];
    const changed = await directory.done(
      'PATCH',
      `/Users/${id}`,
      patchOf(
        { op: 'Add', path: 'title', value: 'Director' },
        { op: 'Add', path: 'preferredLanguage', value: 'de' },
        { op: 'Add', path: 'phoneNumbers[type eq "mobile"].value', value: '+49 170 1' },
        { op: 'Add', path: 'phoneNumbers[type eq "fax"].value', value: '+49 30 2' },
        { op: 'Add', path: 'addresses[type eq "work"].streetAddress', value: 'Main Street 1' },
        { op: 'Add', path: 'addresses[type eq "work"].country', value: 'DE' },
        { op: 'Add', path: 'roles[primary eq "True"].value', value: 'admin' },
        { op: 'Add', path: `${enterprise}:department`, value: 'Sales' },
        { op: 'Add', path: `${enterprise}:employeeNumber`, value: '42' },
        { op: 'Add', path: `${enterprise}:manager`, value: boss.id },
      ),
    );
    expect(changed).toMatchObject({
      schemas: [core, enterprise],
      title: 'Director',
      preferredLanguage: 'de',
      phoneNumbers: [
        { type: 'mobile', value: '+49 170 1' },
        { type: 'fax', value: '+49 30 2' },
      ],
      addresses: [{ type: 'work', streetAddress: 'Main Street 1', country: 'DE' }],
      roles: [{ value: 'admin' }],
      [enterprise]: { department: 'Sales', employeeNumber: '42', manager: { value: boss.id } },
    });
    for (const manager of [`${enterprise}:manager`, 'manager']) {
      const managed = `id eq "${id}" and ${manager} eq "${boss.id}"`;
      expect(idsOf(await directory.done('GET', `${filterPath('Users', managed)}&attributes=id`))).toEqual([
        id,
      ]);
    }
    const value = [{ $ref: `http://directory.example/scim/Users/${id}`, value: id }];
    const own = await directory.done('PATCH', `/Users/${id}`, patchOf({ op: 'Add', path: 'manager', value }));
    expect(own[enterprise]).toMatchObject({ department: 'Sales', manager: { value: id } });
    const withoutPath = await directory.done(
      'PATCH',
      `/Users/${id}`,
      patchOf({
        op: 'replace',
        value: {
          displayName: 'Bjfe',
          'name.givenName': 'Kkom',
          'name.familyName': 'Unua',
          [`${enterprise}:employeeNumber`]: 'Aklq',
          [enterprise]: { costCenter: '7' },
          'phoneNumbers[type eq "mobile"].value': '+49 170 3',
        },
      }),
    );
    expect(withoutPath).toMatchObject({
      displayName: 'Bjfe',
      name: { givenName: 'Kkom', familyName: 'Unua' },
      [enterprise]: { department: 'Sales', employeeNumber: 'Aklq', costCenter: '7' },
    });
    expect(withoutPath.phoneNumbers[0].value).toBe('+49 170 3');
    const removed = await directory.done(
      'PATCH',
      `/Users/${id}`,
      patchOf(
        { op: 'Remove', path: `${enterprise}:manager` },
        { op: 'Remove', path: 'phoneNumbers[type eq "fax"].value' },
      ),
    );
    expect([removed[enterprise].manager, removed.phoneNumbers[1]?.value]).toEqual([undefined, undefined]);
  });

  test('provisions a group and its members, which it reads without the members', async () => {
    const { directory } = await newTenantWithDirectory();
    const user = await directory.done('POST', '/Users', userOf(crypto.randomUUID()));
    const displayName = uniqueName('displayName');
    const group = await directory.done('POST', '/Groups', {
      schemas: [groupSchema, 'http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group'],
      externalId: crypto.randomUUID(),
      displayName,
      meta: { resourceType: 'Group' },
    });
    const path = `/Groups/${group.id}`;
    const read = await directory.done('GET', `${path}?excludedAttributes=members`);
    expect([read.displayName, read.externalId, read.members]).toEqual([
      displayName,
      group.externalId,
      undefined,
    ]);
    const filter = encodeURIComponent(`displayName eq "${displayName}"`);
    const listed = await directory.done('GET', `/Groups?excludedAttributes=members&filter=${filter}`);
    expect([idsOf(listed), listed.Resources[0].members]).toEqual([[group.id], undefined]);

    const value = [{ $ref: null, value: user.id }];
    const patch = async (...operations: object[]) => {
      const { status, text } = await directory.call('PATCH', path, patchOf(...operations));
      expect([status, text]).toEqual([204, '']);
    };
    await patch({ op: 'Add', path: 'members', value });
    await patch({ op: 'Add', path: 'members', value });
    const isMember = async () =>
      idsOf(
        await directory.done(
          'GET',
          `${filterPath('Groups', `id eq "${group.id}" and members eq "${user.id}"`)}&attributes=id`,
        ),
      ).length;
    expect([membersOf(await directory.done('GET', path)), await isMember()]).toEqual([[user.id], 1]);
    await patch({ op: 'Remove', path: 'members', value });
    expect([membersOf(await directory.done('GET', path)), await isMember()]).toEqual([[], 0]);
    // As with the flag aadOptscim062020.
    await patch({ op: 'add', path: 'members', value });
    await patch({ op: 'remove', path: `members[value eq "${user.id}"]` });
    expect(await isMember()).toBe(0);
    const renamed = uniqueName('displayName');
    await patch({ op: 'Replace', path: 'displayName', value: renamed });
    expect((await directory.done('GET', path)).displayName).toBe(renamed);
    expect((await directory.call('DELETE', path)).status).toBe(204);
  });
});
