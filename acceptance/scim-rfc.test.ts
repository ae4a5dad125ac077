import { describe, expect, test } from 'bun:test';
import { uniqueName } from './support/people.ts';
import { filterPath, isScimError, newTenantWithDirectory } from './support/scim.ts';
import { core, createFull, emails, enterprise, fullUser } from './support/scim-user.ts';

/** Requests of RFC 7643 §8 and RFC 7644 §3, word for word except for ids and the domain of addresses. */
const listSchema = 'urn:ietf:params:scim:api:messages:2.0:ListResponse';

describe('the resources of RFC 7643 §8', () => {
  test('a full user with the enterprise extension is stored and returned, but never its password', async () => {
    const { t, directory } = await newTenantWithDirectory();
    const created = await createFull(directory);
    expect(created).toMatchObject(fullUser);
    expect(created.meta).toMatchObject({
      resourceType: 'User',
      location: `${t.server.baseUrl}/scim/v2/Users/${created.id}`,
    });
    expect(JSON.stringify(created)).not.toContain('t1meMa');
    const read = await directory.call('GET', `/Users/${created.id}`);
    expect(read.body).toEqual(created);
    expect(read.headers.get('location')).toBe(created.meta.location);
    const audit = await t.admin.call('GET', `${t.base}/audit?target_id=${created.id}`);
    for (const secret of ['t1meMa', '555-555-5555', 'MIIDQzCC']) expect(audit.text).not.toContain(secret);
  });

  test('a minimal user needs an address, which its userName may be', async () => {
    const { directory } = await newTenantWithDirectory();
    const refused = await directory.call('POST', '/Users', { schemas: [core], userName: 'bjensen' });
    expect([refused.status, refused.body.scimType]).toEqual([400, 'invalidValue']);
    expect(refused.body.detail).toContain('e-mail address');
    const created = await directory.call('POST', '/Users', {
      schemas: [core],
      userName: 'bjensen@example.com',
    });
    expect([created.status, created.body.schemas]).toEqual([201, [core]]);
  });

  test('a group has its members, with their URLs', async () => {
    const { directory } = await newTenantWithDirectory();
    const [babs, mandy] = [
      await createFull(directory),
      await createFull(directory, { userName: 'mandy@example.com', emails: [], externalId: 'mandy' }),
    ];
    const member = (user: { id: string; displayName: string; meta: { location: string } }) => ({
      value: user.id,
      $ref: user.meta.location,
      display: user.displayName,
    });
    const group = await directory.done('POST', '/Groups', {
      schemas: ['urn:ietf:params:scim:schemas:core:2.0:Group'],
      displayName: 'Tour Guides',
      members: [member(babs), member(mandy)],
    });
    expect(group.members.map(({ value }: { value: string }) => value).sort()).toEqual(
      [babs.id, mandy.id].sort(),
    );
    expect(group.members[0].$ref).toEndWith(`/scim/v2/Users/${group.members[0].value}`);
    expect((await directory.done('GET', `/Users/${babs.id}`)).groups).toMatchObject([
      { value: group.id, display: 'Tour Guides', $ref: group.meta.location },
    ]);
  });

  test('the schemas name every attribute of a stored user, and the extension', async () => {
    const { directory } = await newTenantWithDirectory();
    const schemas = (await directory.done('GET', '/Schemas')).Resources;
    const attributesOf = (id: string): string[] =>
      schemas
        .find((schema: { id: string }) => schema.id === id)
        .attributes.map(({ name }: { name: string }) => name);
    const own = ['schemas', 'externalId', enterprise];
    expect(attributesOf(core)).toEqual(
      expect.arrayContaining(Object.keys(fullUser).filter((name) => !own.includes(name))),
    );
    expect(attributesOf(enterprise)).toEqual(
      expect.arrayContaining(Object.keys(fullUser[enterprise] as object)),
    );
    const type = await directory.done('GET', '/ResourceTypes/User');
    expect(type).toMatchObject({
      schemas: ['urn:ietf:params:scim:schemas:core:2.0:ResourceType'],
      id: 'User',
      name: 'User',
      endpoint: '/Users',
      schema: core,
      schemaExtensions: [{ schema: enterprise, required: false }],
    });
  });
});

describe('queries of RFC 7644 §3.4', () => {
  test('every filter of figure 2 is answered', async () => {
    const { t, directory } = await newTenantWithDirectory();
    const babs = await createFull(directory);
    const intern = await createFull(directory, {
      userName: 'J.OMalley@example.org',
      externalId: 'omalley',
      name: { familyName: "O'Malley", givenName: 'Jo' },
      emails: [{ value: 'J.OMalley@example.org', type: 'home' }],
      ims: [{ value: 'jo@foo.com', type: 'xmpp' }],
      userType: 'Intern',
      title: null,
      [enterprise]: undefined,
    });
    const all = [t.admin.id, t.member.id, babs.id, intern.id];
    const found = async (filter: string) =>
      (await directory.done('GET', filterPath('Users', filter))).Resources.map(
        ({ id }: { id: string }) => id,
      ).sort();
    for (const [filter, ids] of [
      ['userName eq "bjensen@example.com"', [babs.id]],
      [`name.familyName co "O'Malley"`, [intern.id]],
      ['userName sw "J"', [intern.id]],
      [`${core}:userName sw "J"`, [intern.id]],
      ['title pr', [babs.id]],
      ['meta.lastModified gt "2011-05-13T04:42:34Z"', all],
      ['meta.lastModified ge "2011-05-13T04:42:34Z"', all],
      ['meta.lastModified lt "2011-05-13T04:42:34Z"', []],
      ['meta.lastModified le "2011-05-13T04:42:34Z"', []],
      ['title pr and userType eq "Employee"', [babs.id]],
      ['title pr or userType eq "Intern"', [babs.id, intern.id]],
      [`schemas eq "${enterprise}"`, [babs.id]],
      ['userType eq "Employee" and (emails co "example.com" or emails.value co "example.org")', [babs.id]],
      ['userType ne "Employee" and not (emails co "example.com" or emails.value co "jensen.org")', null],
      ['userType eq "Employee" and (emails.type eq "work")', [babs.id]],
      ['userType eq "Employee" and emails[type eq "work" and value co "@example.com"]', [babs.id]],
      // The condition holds for one value, not for two of them.
      ['emails[type eq "home" and value co "@example.com"]', []],
      [
        'emails[type eq "work" and value co "@example.com"] or ims[type eq "xmpp" and value co "@foo.com"]',
        [babs.id, intern.id],
      ],
      [`${enterprise}:department eq "tour operations"`, [babs.id]],
      [`${enterprise}:manager.displayName eq "John Smith"`, [babs.id]],
      ['addresses[type eq "work"].postalCode eq "91608" and userType eq "Intern"', [intern.id]],
      ['meta.resourceType eq "User" and userName gt "bjensen@example" and userName le "j.z"', null],
      [`meta.lastModified eq "${babs.meta.lastModified}" and externalId eq "701984"`, [babs.id]],
    ] as const) {
      const result = await found(filter);
      if (ids === null) expect([filter, result.includes(intern.id)]).toEqual([filter, true]);
      else expect([filter, result]).toEqual([filter, [...ids].sort()]);
    }
    for (const filter of [
      'active gt true',
      'meta.lastModified gt "yesterday"',
      'emails[type eq "work"',
      'emails[shoes eq "x"]',
      'shoes.size eq "x"',
      'emails.shoes pr',
    ]) {
      const refused = await directory.call('GET', filterPath('Users', filter));
      expect([filter, refused.status, refused.body.scimType]).toEqual([filter, 400, 'invalidFilter']);
    }
  });

  test('a list has pages by startIndex and count, which may be out of range', async () => {
    const { directory } = await newTenantWithDirectory();
    for (const number of [1, 2, 3])
      await directory.done('POST', '/Groups', { displayName: `${number} ${uniqueName('g')}` });
    const page = (query: string) => directory.done('GET', `/Groups?${query}`);
    expect(await page('startIndex=1&count=2')).toMatchObject({
      schemas: [listSchema],
      totalResults: 3,
      itemsPerPage: 2,
      startIndex: 1,
    });
    const last = await page('startIndex=3&count=10');
    expect([last.totalResults, last.itemsPerPage, last.Resources.length]).toEqual([3, 1, 1]);
    expect((await page('startIndex=99')).Resources).toEqual([]);
    // As the collection of requests beside the reference code of Microsoft has it.
    expect((await directory.done('GET', '/Groups/?count=1')).itemsPerPage).toBe(1);
    expect((await page('startIndex=0&count=-5')).startIndex).toBe(1);
    expect(await page('count=0')).toMatchObject({ totalResults: 3, Resources: [] });
  });

  test('attributes and excludedAttributes select attributes and parts of them', async () => {
    const { directory } = await newTenantWithDirectory();
    const { id } = await createFull(directory);
    const read = (query: string) => directory.done('GET', `/Users/${id}?${query}`);
    expect(await read('attributes=userName,name.familyName,emails.value')).toEqual({
      schemas: [core, enterprise],
      id,
      userName: 'bjensen@example.com',
      name: { familyName: 'Jensen' },
      emails: emails.map(({ value }) => ({ value })),
    });
    const most = await read('excludedAttributes=name.givenName,emails,id');
    expect([most.name.givenName, most.name.familyName, most.emails, most.id]).toEqual([
      undefined,
      'Jensen',
      undefined,
      id,
    ]);
    expect(await read(`attributes=${enterprise}:department`)).toMatchObject({
      [enterprise]: { department: 'Tour Operations' },
    });
  });

  test('a query may be a POST to .search', async () => {
    const { directory } = await newTenantWithDirectory();
    const { id } = await createFull(directory);
    const search = {
      schemas: ['urn:ietf:params:scim:api:messages:2.0:SearchRequest'],
      attributes: ['displayName', 'userName'],
      filter: 'displayName sw "babs"',
      startIndex: 1,
      count: 10,
    };
    expect(await directory.done('POST', '/Users/.search', search)).toEqual({
      schemas: [listSchema],
      totalResults: 1,
      itemsPerPage: 1,
      startIndex: 1,
      Resources: [
        { schemas: [core, enterprise], id, displayName: 'Babs Jensen', userName: 'bjensen@example.com' },
      ],
    });
    expect((await directory.done('POST', '/Groups/.search', { filter: 'displayName pr' })).totalResults).toBe(
      0,
    );
    const refused = await directory.call('POST', '/Users/.search', { count: 'many' });
    expect([refused.status, refused.body.scimType]).toEqual([400, 'invalidValue']);
  });
});

test('what is not supported says so: /Me is 501, an unknown path 404, another method 405', async () => {
  const { directory } = await newTenantWithDirectory();
  for (const [method, path, status] of [
    ['GET', '/Me', 501],
    ['GET', '/Devices', 404],
    ['DELETE', '/Users', 405],
    ['POST', '/ServiceProviderConfig', 405],
    // §4: a filter would seem to have matched all of them.
    ['GET', '/Schemas?filter=name%20eq%20%22User%22', 403],
    ['GET', '/ResourceTypes?filter=name%20eq%20%22User%22', 403],
  ] as const) {
    const answer = await directory.call(method, path, method === 'POST' ? {} : undefined);
    expect([path, answer.status, isScimError(answer)]).toEqual([path, status, true]);
  }
  const large = await directory.call('POST', '/Users', { ...fullUser, title: 'x'.repeat(100_000) });
  expect([large.status, large.body.scimType]).toEqual([400, 'invalidValue']);
});
