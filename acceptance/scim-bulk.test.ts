import { describe, expect, test } from 'bun:test';
import { done } from './support/people.ts';
import {
  address,
  type Directory,
  isScimError,
  newTenantWithDirectory,
  newUser,
  patchOf,
} from './support/scim.ts';
import { core, enterprise } from './support/scim-user.ts';

describe('the version of a resource', () => {
  test('is its ETag; an unchanged resource is 304, a changed one is sent', async () => {
    const { directory } = await newTenantWithDirectory();
    const user = await newUser(directory);
    const path = `/Users/${user.id}`;
    const { version } = user.meta;
    expect(version).toMatch(/^W\/"[\w+/=-]+"$/);
    const read = await directory.call('GET', path);
    expect([read.headers.get('etag'), read.body.meta.version]).toEqual([version, version]);
    const listed = await directory.done('GET', `/Users?filter=${encodeURIComponent(`id eq "${user.id}"`)}`);
    expect(listed.Resources[0].meta.version).toBe(version);
    for (const tags of [version, `W/"other", ${version}`, '*'])
      expect((await directory.call('GET', path, undefined, { 'if-none-match': tags })).status).toBe(304);
    await directory.done('PATCH', path, patchOf({ op: 'replace', path: 'displayName', value: 'Other' }));
    const changed = await directory.call('GET', path, undefined, { 'if-none-match': version });
    expect([changed.status, changed.body.meta.version === version]).toEqual([200, false]);
  });

  test('changes with the members of a group, for the group and for the member', async () => {
    const { directory } = await newTenantWithDirectory();
    const user = await newUser(directory);
    const group = await directory.done('POST', '/Groups', { displayName: 'Tour Guides' });
    const path = `/Groups/${group.id}`;
    await directory.done('PATCH', path, patchOf({ op: 'add', path: 'members', value: [{ value: user.id }] }));
    const { meta } = await directory.done('GET', path);
    expect([meta.version === group.meta.version, meta.lastModified > group.meta.lastModified]).toEqual([
      false,
      true,
    ]);
    expect((await directory.done('GET', `/Users/${user.id}`)).meta.version).not.toBe(user.meta.version);
  });

  test.each(['Users', 'Groups'])('in If-Match protects %s from changes by two at once', async (name) => {
    const { directory } = await newTenantWithDirectory();
    const resource =
      name === 'Users'
        ? await newUser(directory)
        : await directory.done('POST', '/Groups', { displayName: 'Tour Guides' });
    const path = `/${name}/${resource.id}`;
    const first = resource.meta.version;
    const rename = patchOf({ op: 'replace', path: 'displayName', value: 'First' });
    const changed = await directory.call('PATCH', path, rename, { 'if-match': first });
    const second = (await directory.done('GET', path)).meta.version;
    expect([changed.status, changed.headers.get('etag')]).toEqual([name === 'Users' ? 200 : 204, second]);
    for (const [method, body] of [
      ['PUT', { ...resource, displayName: 'Second' }],
      ['PATCH', patchOf({ op: 'replace', path: 'displayName', value: 'Second' })],
      ['DELETE', undefined],
    ] as const) {
      const refused = await directory.call(method, path, body, { 'if-match': first });
      expect([method, refused.status, isScimError(refused)]).toEqual([method, 412, true]);
    }
    expect((await directory.done('GET', path)).displayName).toBe('First');
    const removed = await directory.call('DELETE', path, undefined, { 'if-match': second });
    expect(removed.status).toBe(204);
  });
});

describe('sorting', () => {
  const sorted = async (directory: Directory, query: string) =>
    (
      await directory.done('GET', `/Users?filter=${encodeURIComponent('displayName sw "sort"')}&${query}`)
    ).Resources.map(({ displayName }: { displayName: string }) => displayName);

  test('is by an attribute, without regard to case, in both orders; without a value last and first', async () => {
    const { directory } = await newTenantWithDirectory();
    for (const [displayName, familyName] of [
      ['sort b', 'Zed'],
      ['Sort A', 'young'],
      ['sort c', undefined],
    ])
      await newUser(directory, { displayName, name: { familyName } });
    expect(await sorted(directory, 'sortBy=displayName')).toEqual(['Sort A', 'sort b', 'sort c']);
    expect(await sorted(directory, 'sortBy=DISPLAYNAME&sortOrder=descending')).toEqual([
      'sort c',
      'sort b',
      'Sort A',
    ]);
    expect(await sorted(directory, 'sortBy=name.familyName')).toEqual(['Sort A', 'sort b', 'sort c']);
    expect(await sorted(directory, 'sortBy=name.familyName&sortOrder=descending')).toEqual([
      'sort c',
      'sort b',
      'Sort A',
    ]);
    expect(await sorted(directory, 'sortBy=meta.created&sortOrder=descending&count=1')).toEqual(['sort c']);
    for (const query of ['sortBy=emails.value', 'sortBy=urn:ietf:params:scim:schemas:core:2.0:User:userName'])
      expect(await sorted(directory, query)).toHaveLength(3);
    for (const [query, type] of [
      ['sortBy=nothing', 'invalidPath'],
      ['sortBy=displayName&sortOrder=up', 'invalidValue'],
    ]) {
      const refused = await directory.call('GET', `/Users?${query}`);
      expect([refused.status, refused.body.scimType]).toEqual([400, type]);
    }
  });

  test('applies to groups', async () => {
    const { directory } = await newTenantWithDirectory();
    for (const displayName of ['b', 'C', 'a']) await directory.done('POST', '/Groups', { displayName });
    const { Resources } = await directory.done('GET', '/Groups?sortBy=displayName&sortOrder=descending');
    expect(Resources.map(({ displayName }: { displayName: string }) => displayName)).toEqual(['C', 'b', 'a']);
  });
});

describe('a bulk request', () => {
  const bulkOf = (Operations: object[], more: object = {}) => ({
    schemas: ['urn:ietf:params:scim:api:messages:2.0:BulkRequest'],
    ...more,
    Operations,
  });
  const userOf = (userName = address()) => ({
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
    userName,
  });
  const statuses = (body: { Operations: { status: string }[] }) =>
    body.Operations.map(({ status }) => status);

  // The example of RFC 7644 §3.7.3.
  test('creates, replaces, changes and deletes; each result has location and version', async () => {
    const { t, directory } = await newTenantWithDirectory();
    const [bob, dave, eve] = [
      await newUser(directory),
      await newUser(directory, { nickName: 'Davey' }),
      await newUser(directory),
    ];
    const userName = address();
    const answer = await directory.done(
      'POST',
      '/Bulk',
      bulkOf(
        [
          { method: 'POST', path: '/Users', bulkId: 'qwerty', data: userOf() },
          {
            method: 'PUT',
            path: `/Users/${bob.id}`,
            version: bob.meta.version,
            data: { ...bob, displayName: 'Bob' },
          },
          {
            method: 'PATCH',
            path: `/Users/${dave.id}`,
            version: dave.meta.version,
            // A list alone, as in the RFC.
            data: [
              { op: 'remove', path: 'nickName' },
              { op: 'add', path: 'userName', value: userName },
            ],
          },
          { method: 'DELETE', path: `/Users/${eve.id}`, version: eve.meta.version },
        ],
        { failOnErrors: 1 },
      ),
    );
    expect(answer.schemas).toEqual(['urn:ietf:params:scim:api:messages:2.0:BulkResponse']);
    expect(statuses(answer)).toEqual(['201', '200', '200', '204']);
    const [created, replaced] = answer.Operations;
    expect([created.bulkId, created.method]).toEqual(['qwerty', 'POST']);
    expect(replaced.location).toBe(`${t.server.baseUrl}/scim/v2/Users/${bob.id}`);
    const now = await directory.done('GET', `/Users/${bob.id}`);
    expect([now.displayName, now.meta.version]).toEqual(['Bob', replaced.version]);
    const patched = await directory.done('GET', `/Users/${dave.id}`);
    expect([patched.userName, patched.nickName]).toEqual([userName, undefined]);
    expect((await directory.call('GET', `/Users/${eve.id}`)).status).toBe(404);
    const audit = await done(t.admin.call('GET', `${t.base}/audit?target_id=${bob.id}`));
    expect(audit.items[0].actor).toMatchObject({ kind: 'scim', id: directory.tokenId });
  });

  // RFC 7644 §3.7.2, with the group before the user that it names.
  test('resolves the bulkIds of other operations, wherever they stand', async () => {
    const { directory } = await newTenantWithDirectory();
    const answer = await directory.done(
      'POST',
      '/Bulk',
      bulkOf([
        {
          method: 'POST',
          path: '/Groups',
          bulkId: 'ytrewq',
          data: { displayName: 'Tour Guides', members: [{ type: 'User', value: 'bulkId:qwerty' }] },
        },
        { method: 'POST', path: '/Users', bulkId: 'qwerty', data: userOf() },
        {
          method: 'PATCH',
          path: '/Users/bulkId:qwerty',
          data: patchOf({ op: 'replace', value: { active: false } }),
        },
        {
          method: 'POST',
          path: '/Users',
          bulkId: 'managed',
          data: {
            ...userOf(),
            schemas: [core, enterprise],
            [enterprise]: { employeeNumber: '11250', manager: { value: 'bulkId:qwerty' } },
          },
        },
        {
          method: 'PATCH',
          path: '/Groups/bulkId:ytrewq',
          data: patchOf({ op: 'replace', path: 'displayName', value: 'Guides' }),
        },
      ]),
    );
    expect(statuses(answer)).toEqual(['201', '201', '200', '201', '204']);
    const [group, user, , managed] = answer.Operations.map(({ location }: { location: string }) =>
      location.split('/').at(-1),
    );
    const { displayName, members, meta } = await directory.done('GET', `/Groups/${group}`);
    expect([displayName, members.map(({ value }: { value: string }) => value)]).toEqual(['Guides', [user]]);
    expect(answer.Operations[4]).toMatchObject({ location: meta.location, version: meta.version });
    expect((await directory.done('GET', `/Users/${managed}`))[enterprise]).toEqual({
      employeeNumber: '11250',
      manager: { value: user },
    });
    expect((await directory.done('GET', `/Users/${user}`)).active).toBe(false);
  });

  test('goes on after errors up to failOnErrors; results carry the error', async () => {
    const { directory } = await newTenantWithDirectory();
    const { userName } = await newUser(directory);
    const taken = (bulkId: string) => ({ method: 'POST', path: '/Users', bulkId, data: userOf(userName) });
    const all = [
      taken('a'),
      { method: 'POST', path: '/Users', bulkId: 'b', data: userOf() },
      taken('c'),
      { method: 'POST', path: '/Users', bulkId: 'd', data: userOf() },
    ];
    const whole = await directory.done('POST', '/Bulk', bulkOf(all));
    expect(statuses(whole)).toEqual(['409', '201', '409', '201']);
    expect(whole.Operations[0].response).toMatchObject({
      schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'],
      scimType: 'uniqueness',
      status: '409',
    });
    all[1]!.data = userOf();
    const stopped = await directory.done('POST', '/Bulk', bulkOf(all, { failOnErrors: 2 }));
    expect(statuses(stopped)).toEqual(['409', '201', '409']);
  });

  test('refuses single operations that are wrong, and references to what was not created', async () => {
    const { directory } = await newTenantWithDirectory();
    const user = await newUser(directory);
    const member = (value: string) => ({ displayName: value, members: [{ value }] });
    const answer = await directory.done(
      'POST',
      '/Bulk',
      bulkOf([
        { method: 'GET', path: `/Users/${user.id}` },
        { method: 'POST', path: '/Users', data: userOf() },
        { method: 'POST', path: '/Bulk', bulkId: 'a', data: bulkOf([]) },
        { method: 'POST', path: '/Users', bulkId: 'b', data: { userName: 7 } },
        { method: 'POST', path: '/Groups', bulkId: 'c', data: member('bulkId:b') },
        { method: 'POST', path: '/Groups', bulkId: 'd', data: member('bulkId:e') },
        { method: 'POST', path: '/Groups', bulkId: 'e', data: member('bulkId:d') },
        { method: 'POST', path: '/Groups', bulkId: 'f', data: member('bulkId:nobody') },
        { method: 'DELETE', path: `/Users/${user.id}`, version: 'W/"old"' },
        { method: 'DELETE', path: `/Users/${Bun.randomUUIDv7()}` },
      ]),
    );
    expect(statuses(answer)).toEqual(['400', '400', '400', '400', '409', '409', '409', '409', '412', '404']);
    // §3.7: location is "REQUIRED in a response, except in the event of a POST failure".
    expect(answer.Operations[8].location).toBe(user.meta.location);
    expect(answer.Operations[9].location).toStartWith(user.meta.location.slice(0, -user.id.length));
    expect(answer.Operations[3].location).toBeUndefined();
    expect((await directory.done('GET', '/Groups')).totalResults).toBe(0);
  });

  test('of more operations or bytes than ServiceProviderConfig says is refused whole', async () => {
    const { directory } = await newTenantWithDirectory();
    const { bulk } = await directory.done('GET', '/ServiceProviderConfig');
    const operation = { method: 'POST', path: '/Users', bulkId: 'a', data: userOf() };
    const many = await directory.call('POST', '/Bulk', bulkOf(Array(bulk.maxOperations + 1).fill(operation)));
    const large = await directory.call(
      'POST',
      '/Bulk',
      bulkOf([{ ...operation, x: 'x'.repeat(bulk.maxPayloadSize) }]),
    );
    for (const refused of [many, large]) expect([refused.status, isScimError(refused)]).toEqual([413, true]);
    for (const body of [bulkOf([], { failOnErrors: -1 }), {}, { Operations: [1] }])
      expect((await directory.call('POST', '/Bulk', body)).status).toBe(400);
  });
});
