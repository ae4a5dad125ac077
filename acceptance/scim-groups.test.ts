import { describe, expect, test } from 'bun:test';
import { caller, done, newApp, newMember, uniqueName, withToken } from './support/people.ts';
import { filterPath, newTenantWithDirectory, newUser, patchOf } from './support/scim.ts';
import { until } from './support/until.ts';

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
      expect((await directory.done('GET', filterPath('Groups', filter))).totalResults).toBe(1);
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
