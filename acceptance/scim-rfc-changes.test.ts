import { describe, expect, test } from 'bun:test';
import { uniqueName } from './support/people.ts';
import { filterPath, isScimError, newTenantWithDirectory, patchOf } from './support/scim.ts';
import { core, createFull, emails, enterprise } from './support/scim-user.ts';

describe('changes of RFC 7644 §3.5', () => {
  async function newPatched() {
    const { directory } = await newTenantWithDirectory();
    const { id } = await createFull(directory);
    return {
      directory,
      id,
      patch: (...operations: object[]) => directory.done('PATCH', `/Users/${id}`, patchOf(...operations)),
      refused: async (...operations: object[]) => {
        const answer = await directory.call('PATCH', `/Users/${id}`, patchOf(...operations));
        return [answer.status, answer.body.scimType, isScimError(answer)];
      },
    };
  }

  test('add: attributes without a path, a value that exists already, a part of a value', async () => {
    const { directory, id, patch } = await newPatched();
    const added = await patch({
      op: 'add',
      value: { emails: [{ value: 'babs@jensen.org', type: 'home' }], nickname: 'Barbara' },
    });
    expect([added.nickName, added.emails.length]).toEqual(['Barbara', 2]);
    const same = { op: 'add', path: 'phoneNumbers', value: [{ value: '555-555-5555', type: 'work' }] };
    // §3.5.2.1: "this operation SHALL NOT change the modify timestamp of the resource".
    const before = await directory.done('GET', `/Users/${id}`);
    expect(await patch(same)).toEqual(before);
    expect(await patch({ op: 'add', value: { nickname: 'Barbara', title: before.title } })).toEqual(before);
    const more = await patch(
      { op: 'add', path: 'ims', value: { value: 'babs', type: 'xmpp', primary: true } },
      { op: 'add', path: 'phoneNumbers[type eq "mobile"].display', value: 'of hers' },
      { op: 'add', path: `${enterprise}:manager.displayName`, value: 'Jane Smith' },
    );
    expect(more.ims.map(({ value }: { value: string }) => value)).toEqual(['someaimhandle', 'babs']);
    expect(more.phoneNumbers[1]).toEqual({ value: '555-555-4444', type: 'mobile', display: 'of hers' });
    expect(more[enterprise].manager).toMatchObject({
      value: '26118915-6090-4610-87e4-49d8ca9f808d',
      displayName: 'Jane Smith',
    });
  });

  test('remove: values by a filter, a part, a whole attribute; no target is no change', async () => {
    const { patch, refused } = await newPatched();
    const removed = await patch(
      { op: 'remove', path: 'emails[type eq "work" and value ew "example.com"]' },
      { op: 'remove', path: 'addresses[type eq "home"]' },
      { op: 'remove', path: 'addresses[type eq "work"].streetAddress' },
      { op: 'remove', path: 'photos' },
      { op: 'remove', path: 'title' },
      { op: 'remove', path: 'name.honorificSuffix' },
      { op: 'remove', path: `${enterprise}:department` },
    );
    expect(removed.emails).toEqual([expect.objectContaining({ value: 'babs@jensen.org' })]);
    expect(removed.addresses).toHaveLength(1);
    expect(removed.addresses[0].streetAddress).toBeUndefined();
    expect([removed.photos, removed.title, removed.name.honorificSuffix]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect(removed[enterprise].department).toBeUndefined();
    expect(await refused({ op: 'remove', path: 'userName' })).toEqual([400, 'mutability', true]);
    expect(await refused({ op: 'remove' })).toEqual([400, 'noTarget', true]);
  });

  test('replace: a whole value by its filter, a part of it, and several attributes', async () => {
    const { patch, refused } = await newPatched();
    const address = {
      type: 'work',
      streetAddress: '911 Universal City Plaza',
      locality: 'Hollywood',
      region: 'CA',
      postalCode: '91608',
      country: 'US',
      formatted: '911 Universal City Plaza\nHollywood, CA 91608 US',
      primary: true,
    };
    const replaced = await patch({ op: 'replace', path: 'addresses[type eq "work"]', value: address });
    expect(replaced.addresses[0]).toEqual(address);
    const street = {
      op: 'replace',
      path: 'addresses[type eq "work"].streetAddress',
      value: '1010 Broadway Ave',
    };
    expect((await patch(street)).addresses[0]).toEqual({ ...address, streetAddress: '1010 Broadway Ave' });
    const whole = await patch({ op: 'replace', value: { emails: [emails[0]], nickname: 'Babsy' } });
    expect([whole.emails, whole.nickName]).toEqual([[emails[0]], 'Babsy']);
    // §3.5.2.3: a filter without a match is an error.
    expect(await refused({ op: 'replace', path: 'addresses[type eq "other"].region', value: 'x' })).toEqual([
      400,
      'noTarget',
      true,
    ]);
    for (const path of ['id', 'meta.created', 'groups'])
      expect([path, await refused({ op: 'replace', path, value: 'x' })]).toEqual([
        path,
        [400, 'mutability', true],
      ]);
  });

  test('one primary value at most, and a failed operation undoes those before it', async () => {
    const { directory, id, patch, refused } = await newPatched();
    const { addresses } = await patch({
      op: 'replace',
      path: 'addresses[type eq "home"].primary',
      value: true,
    });
    expect(
      addresses
        .filter(({ primary }: { primary?: boolean }) => primary)
        .map(({ type }: { type: string }) => type),
    ).toEqual(['home']);
    expect(
      await refused({ op: 'replace', path: 'title', value: 'Lost' }, { op: 'replace', path: '[', value: 1 }),
    ).toEqual([400, 'invalidPath', true]);
    expect((await directory.done('GET', `/Users/${id}`)).title).toBe('Tour Guide');
  });

  test('PUT replaces all: attributes that it does not name are gone', async () => {
    const { directory, id } = await newPatched();
    const replaced = await directory.done('PUT', `/Users/${id}`, {
      schemas: [core],
      id,
      userName: 'bjensen',
      externalId: 'bjensen',
      name: {
        formatted: 'Ms. Barbara J Jensen III',
        familyName: 'Jensen',
        givenName: 'Barbara',
        middleName: 'Jane',
      },
      roles: [],
      emails: [{ value: 'bjensen@example.com' }, { value: 'babs@jensen.org' }],
    });
    expect(replaced).toMatchObject({
      schemas: [core],
      id,
      userName: 'bjensen',
      externalId: 'bjensen',
      name: {
        formatted: 'Ms. Barbara J Jensen III',
        familyName: 'Jensen',
        givenName: 'Barbara',
        middleName: 'Jane',
      },
      emails: [{ value: 'bjensen@example.com' }, { value: 'babs@jensen.org' }],
      active: true,
    });
    expect([replaced.title, replaced.addresses, replaced[enterprise]]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  test('members of a group are added, removed and replaced', async () => {
    const { directory } = await newTenantWithDirectory();
    const users = [];
    for (const name of ['babs', 'james', 'mandy'])
      users.push(
        await createFull(directory, { userName: `${name}@example.com`, emails: [], externalId: name }),
      );
    const [babs, james, mandy] = users;
    const { id } = await directory.done('POST', '/Groups', { displayName: uniqueName('Tour Guides') });
    const member = (user: { id: string; displayName: string; meta: { location: string } }) => ({
      display: user.displayName,
      $ref: user.meta.location,
      value: user.id,
    });
    // "The server MUST return a 200 OK if the "attributes" parameter is specified in the request."
    const patch = async (...operations: object[]) => {
      const answer = await directory.call(
        'PATCH',
        `/Groups/${id}?attributes=members`,
        patchOf(...operations),
      );
      expect([answer.status, Object.keys(answer.body).sort()]).toEqual([200, ['id', 'members', 'schemas']]);
      return answer.body.members.map(({ value }: { value: string }) => value);
    };
    expect(await patch({ op: 'add', path: 'members', value: [member(babs)] })).toEqual([babs.id]);
    expect(
      await patch(
        { op: 'remove', path: `members[value eq"${babs.id}"]` },
        { op: 'add', path: 'members', value: [member(james)] },
      ),
    ).toEqual([james.id]);
    for (const operations of [
      [{ op: 'replace', path: 'members', value: [member(babs), member(mandy)] }],
      [
        { op: 'remove', path: 'members' },
        { op: 'add', path: 'members', value: [member(babs), member(mandy)] },
      ],
    ])
      expect((await patch(...operations)).sort()).toEqual([babs.id, mandy.id].sort());
    for (const [filter, total] of [
      [`members eq "${babs.id}"`, 1],
      [`members[value eq "${mandy.id}"] and id eq "${id}"`, 1],
      [`members.value eq "${james.id}"`, 0],
    ])
      expect((await directory.done('GET', filterPath('Groups', String(filter)))).totalResults).toBe(total);
    expect(await patch({ op: 'remove', path: 'members' })).toEqual([]);
    const unnamed = await directory.call(
      'PATCH',
      `/Groups/${id}`,
      patchOf({ op: 'remove', path: 'displayName' }),
    );
    expect([unnamed.status, unnamed.body.scimType]).toEqual([400, 'mutability']);
  });
});
