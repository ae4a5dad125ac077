import { describe, expect, test } from 'bun:test';
import { svcFor } from './support/commands.ts';
import { setApp } from './support/database.ts';
import {
  done,
  newApp,
  newMember,
  newTenant,
  type Person,
  type Tenant,
  uniqueName,
} from './support/people.ts';
import { until } from './support/until.ts';

const newGroup = (t: Tenant, fields: object = {}) =>
  done(t.admin.call('POST', `${t.base}/groups`, { name: uniqueName('g'), ...fields }));

const join = (t: Tenant, group: { id: string }, person: Person) =>
  done(t.admin.call('POST', `${t.base}/groups/${group.id}/members`, { user_id: person.email }));

const leave = (t: Tenant, group: { id: string }, person: Person) =>
  done(t.admin.call('DELETE', `${t.base}/groups/${group.id}/members/${person.id}`));

describe('a group', () => {
  test('is created, changed, listed for every member, and deleted by admins', async () => {
    const t = await newTenant();
    const group = await newGroup(t, { display_name: 'Engineers' });
    expect(group).toMatchObject({ display_name: 'Engineers', source: 'local', member_count: 0 });
    const one = `${t.base}/groups/${group.name}`;
    expect((await done(t.admin.call('PATCH', one, { description: 'People who build' }))).description).toBe(
      'People who build',
    );
    await join(t, group, t.member);
    const { items } = await done(t.member.call('GET', `${t.base}/groups`));
    expect(items).toMatchObject([{ id: group.id, member_count: 1 }]);
    expect((await t.member.call('GET', `${one}/members`)).status).toBe(403);
    const members = await done(t.admin.call('GET', `${one}/members`));
    expect(members.items).toMatchObject([{ user_id: t.member.id, email: t.member.email, status: 'active' }]);
    expect((await t.admin.call('DELETE', one)).status).toBe(204);
    expect((await t.admin.call('GET', one)).status).toBe(404);
    const audit = await done(t.admin.call('GET', `${t.base}/audit?target_id=${group.id}`));
    expect(audit.items.map(({ action }: { action: string }) => action)).toEqual([
      'groups.delete',
      'groupMembers.add',
      'groups.update',
      'groups.create',
    ]);
  });

  test('has a name of its own, and only members of the tenant', async () => {
    const t = await newTenant();
    const group = await newGroup(t);
    const again = await t.admin.call('POST', `${t.base}/groups`, { name: group.name });
    expect([again.status, again.body.code]).toEqual([409, 'unique_violation']);
    const stranger = await t.admin.call('POST', `${t.base}/groups/${group.id}/members`, {
      user_id: t.outsider.id,
    });
    expect([stranger.status, stranger.body.errors[0].code]).toEqual([400, 'unknown_user']);
    expect((await join(t, group, t.member)).changed).toBeUndefined();
    expect((await join(t, group, t.member)).changed).toBe(false);
  });

  test('loses a member who leaves the tenant', async () => {
    const t = await newTenant();
    const group = await newGroup(t);
    await join(t, group, t.member);
    await done(t.admin.call('DELETE', `${t.base}/members/${t.member.id}`));
    await done(t.admin.call('PUT', `${t.base}/members/${t.member.id}`, { role: 'tenant_member' }));
    expect((await done(t.admin.call('GET', `${t.base}/groups/${group.id}`))).member_count).toBe(0);
  });

  test('is managed with the command line, after a preview', async () => {
    const t = await newTenant();
    const svc = svcFor(t.server, { token: t.admin.token, tenant: t.slug });
    const name = uniqueName('g');
    const preview = await svc(['groups', 'create', name, '--json']);
    expect(JSON.parse(preview.stdout).dry_run).toBe(true);
    expect((await svc(['groups', 'get', name])).code).toBe(5);
    expect((await svc(['groups', 'create', name, '--execute'])).code).toBe(0);
    expect((await svc(['groups', 'members', 'add', name, '--user', t.member.email, '--execute'])).code).toBe(
      0,
    );
    const members = await svc(['groups', 'members', 'list', name, '--json']);
    expect(JSON.parse(members.stdout).items).toMatchObject([{ email: t.member.email }]);
    expect(
      (await svc(['groups', 'members', 'remove', name, '--user', t.member.email, '--execute'])).code,
    ).toBe(0);
    expect((await svc(['groups', 'delete', name, '--execute', '--yes'])).code).toBe(0);
  });
});

describe('a grant to a group', () => {
  const newConnector = async (t: Tenant): Promise<string> =>
    (await done(t.admin.call('POST', `${t.base}/connectors`, { name: uniqueName('c'), kind: 'http' }))).id;
  const mine = (t: Tenant) => done(t.member.call('GET', `${t.base}/me/grants`));

  test('applies to its members while they are in it, and lists and checks name the group', async () => {
    const t = await newTenant();
    const group = await newGroup(t);
    const connector = await newConnector(t);
    const subject = { subject_kind: 'group', subject_id: group.name };
    const grant = await done(
      t.admin.call('POST', `${t.base}/grants`, { ...subject, connector_id: connector, preset_id: 'reader' }),
    );
    expect([grant.subject_kind, grant.subject_id]).toEqual(['group', group.id]);
    expect(await mine(t)).toEqual([]);
    await join(t, group, t.member);
    expect(await mine(t)).toMatchObject([{ id: grant.id, subject_kind: 'group', subject_id: group.id }]);
    expect((await done(t.member.call('GET', `${t.base}/me/grants/terms`))).groups).toMatchObject([
      { id: group.id, name: group.name },
    ]);
    const check = () =>
      done(
        t.member.call('POST', `${t.base}/access/check`, {
          subject_id: t.member.id,
          connector_id: connector,
          action: 'read',
        }),
      );
    expect(await check()).toMatchObject({ allowed: true, grant_ids: [grant.id], group_ids: [group.id] });
    const { items } = await done(t.admin.call('GET', `${t.base}/grants?subject_id=${group.name}`));
    expect(items).toMatchObject([{ id: grant.id }]);
    await leave(t, group, t.member);
    expect(await mine(t)).toEqual([]);
    expect(await check()).toMatchObject({ allowed: false, group_ids: [] });
  });

  test('is revoked when the group is deleted', async () => {
    const t = await newTenant();
    const svc = svcFor(t.server, { token: t.admin.token, tenant: t.slug });
    const group = await newGroup(t);
    const connector = await newConnector(t);
    const line = ['grants', 'create', '--group', group.name, '--connector', connector, '--preset', 'reader'];
    const made = JSON.parse((await svc([...line, '--execute', '--json'])).stdout);
    const plan = await done(t.admin.call('DELETE', `${t.base}/groups/${group.id}?dry_run=true`));
    expect(JSON.stringify(plan)).toContain('The group was deleted.');
    await done(t.admin.call('DELETE', `${t.base}/groups/${group.id}`));
    expect((await done(t.admin.call('GET', `${t.base}/grants/${made.id}`))).status).toBe('revoked');
  });
});

describe('an app', () => {
  test('that invites a group is there for its members, and for nobody else', async () => {
    const t = await newTenant();
    const owner = await newMember(t);
    const group = await newGroup(t, { display_name: 'Engineers' });
    const app = await newApp(t, { owner });
    await setApp(t.server, app.id, { visibility: 'invite_only' });
    const sees = async () => (await t.member.call('GET', app.base)).status;
    expect(await sees()).toBe(404);
    const added = await done(owner.call('POST', `${app.base}/members`, { group_id: group.name }));
    expect(added).toMatchObject({ user_id: null, role: 'member', group: { id: group.id, name: group.name } });
    expect(await sees()).toBe(404);
    await join(t, group, t.member);
    await until('the member sees the app', async () => (await sees()) === 200);
    const received = await done(t.member.call('GET', `${t.base}/me/apps/received`));
    expect(received.items).toMatchObject([{ id: app.id, relation: 'member' }]);
    const { items } = await done(owner.call('GET', `${app.base}/members`));
    expect(items.map((item: { role: string; group: unknown }) => [item.role, item.group])).toEqual([
      ['owner', null],
      ['member', { id: group.id, name: group.name, member_count: 1 }],
    ]);
    await leave(t, group, t.member);
    await until('the member no longer sees the app', async () => (await sees()) === 404);
    await join(t, group, t.member);
    await until('the member sees the app again', async () => (await sees()) === 200);
    expect((await owner.call('DELETE', `${app.base}/members/${group.id}`)).status).toBe(204);
    await until('the invitation has ended', async () => (await sees()) === 404);
  });

  test('accepts either a user or a group', async () => {
    const t = await newTenant();
    const app = await newApp(t, { owner: t.member });
    for (const body of [{}, { user_id: t.admin.id, group_id: 'engineers' }])
      expect((await t.member.call('POST', `${app.base}/members`, body)).status).toBe(400);
    const unknown = await t.member.call('POST', `${app.base}/members`, { group_id: 'no-such-group' });
    expect(unknown.body.errors[0].code).toBe('unknown_group');
  });
});

test('a table grant to a group opens the table to its members until they leave or the group ends', async () => {
  const t = await newTenant();
  const owner = await newMember(t);
  const app = await newApp(t, { owner });
  await done(owner.call('POST', `${app.base}/tables`, { name: 'notes', columns: ['body:text'] }));
  const group = await newGroup(t);
  const grants = `${app.base}/tables/notes/grants`;
  const granted = { principal_type: 'group', principal_id: group.name, actions: ['read'] };
  expect(await done(owner.call('POST', grants, granted))).toMatchObject({
    principal_id: group.id,
    principal_name: group.name,
  });
  const reads = async () => (await t.member.call('GET', `/data/${t.slug}/${app.slug}/notes`)).status;
  expect(await reads()).toBe(404);
  await join(t, group, t.member);
  await until('the member reads the table', async () => (await reads()) === 200);
  await leave(t, group, t.member);
  await until('the member no longer reads the table', async () => (await reads()) === 404);
  await join(t, group, t.member);
  await until('the member reads the table again', async () => (await reads()) === 200);
  await done(t.admin.call('DELETE', `${t.base}/groups/${group.id}`));
  await until('the group is of no use any more', async () => (await reads()) === 404);
  expect((await done(owner.call('GET', grants))).items).toEqual([]);
});
