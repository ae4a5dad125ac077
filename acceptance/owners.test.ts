import { describe, expect, test } from 'bun:test';
import { useFixture } from '../scripts/use-fixture.ts';
import { admin, type Ran, type Svc, svcFor } from './support/commands.ts';
import { newApp, newPerson, type Person } from './support/people.ts';
import { newWorld } from './support/world.ts';

const world = useFixture(newWorld);

const as = (person: Person): Svc =>
  svcFor(world.tenant.server, { token: person.token, tenant: world.tenant.slug });
const member = () => newPerson(world.tenant.server, { tenant: world.tenant.id, role: 'tenant_member' });
const codeIn = ({ stderr }: Ran) => JSON.parse(stderr).code;

/** An app of O's with C as co-owner, and its commands as one of the people. */
async function app() {
  const { slug, id } = await newApp(world.tenant, { owner: world.people.O, coOwner: world.people.C });
  const path = `${world.tenant.base}/apps/${id}`;
  const run = (person: Person, words: string, ...args: string[]) =>
    as(person)(['apps', ...words.split(' '), '--app', slug, ...args, '--json']);
  const owners = async (): Promise<string[]> => {
    const { body } = await world.as.A('GET', `${path}/co-owners`);
    return body.items.map(({ user_id, role }: Record<string, string>) => `${role} ${user_id}`);
  };
  return { slug, id, path, run, owners };
}

describe('svc apps ownership transfer', () => {
  test('transfers the app with --execute and --yes, and only the new owner can transfer it back', async () => {
    const { O, C, M } = world.people;
    const { id, run, owners } = await app();
    const preview = await run(O, 'ownership transfer', '--to', M.email);
    expect(preview.json()).toMatchObject({ dry_run: true, plan: { irreversible: true } });
    expect(await owners()).toEqual([`owner ${O.id}`, `co_owner ${C.id}`]);
    const done = await run(O, 'ownership transfer', '--to', M.email, '--execute', '--yes');
    expect([done.code, done.json()]).toMatchObject([
      0,
      { app_id: id, owner: { user_id: M.id }, previous_owner: { user_id: O.id, role: 'co_owner' } },
    ]);
    expect(await owners()).toEqual([`owner ${M.id}`, `co_owner ${C.id}`, `co_owner ${O.id}`]);
    const again = await run(O, 'ownership transfer', '--to', C.id, '--execute', '--yes');
    expect([again.code, codeIn(again)]).toEqual([4, 'forbidden']);
    expect((await run(M, 'ownership transfer', '--to', O.id, '--execute', '--yes')).code).toBe(0);
    expect(await owners()).toEqual([`owner ${O.id}`, `co_owner ${C.id}`, `co_owner ${M.id}`]);
  });

  test('needs a confirmation: without a terminal and --yes it exits 11 and changes nothing', async () => {
    const { O, C, M } = world.people;
    const { run, owners } = await app();
    const ran = await run(O, 'ownership transfer', '--to', M.id, '--execute');
    expect([ran.code, ran.stdout, codeIn(ran)]).toEqual([11, '', 'confirmation_required']);
    expect(await owners()).toEqual([`owner ${O.id}`, `co_owner ${C.id}`]);
  });

  test('is refused with a reason: to the owner, to a non-member, and by a non-owner', async () => {
    const { O, C, A, X } = world.people;
    const { run, slug } = await app();
    const refused = async (person: Person, to: string) => {
      const ran = await run(person, 'ownership transfer', '--to', to, '--execute', '--yes');
      return [ran.code, codeIn(ran)];
    };
    for (const to of [O.id, X.email, 'nobody@example.test'])
      expect(await refused(O, to)).toEqual([7, 'validation_failed']);
    for (const person of [C, A]) expect(await refused(person, C.id)).toEqual([4, 'forbidden']);
    expect(await refused(X, C.id)).toEqual([5, 'not_found']);
    expect((await as(O)(['apps', 'ownership', 'transfer', '--app', slug])).code).toBe(2);
  });

  test('is possible for an admin once the owner is suspended, and the audit names the owner', async () => {
    const owner = await member();
    const { id } = await newApp(world.tenant, { owner, coOwner: world.people.C });
    await admin(world.tenant.server, ['users', 'suspend', owner.id]);
    const line = ['apps', 'ownership', 'transfer', '--app', id, '--to', world.people.M.email];
    const preview = await as(world.people.A)(line);
    expect(preview.stdout).toContain(`You act for the owner: ${owner.email} is suspended`);
    expect((await as(world.people.A)([...line, '--execute', '--yes'])).code).toBe(0);
    const audit = await world.as.A('GET', `${world.tenant.base}/audit?target_id=${id}`);
    const entry = audit.body.items.find((it: { action: string }) => it.action === 'ownership.transfer');
    expect(entry.changes.at(-1)).toMatchObject({ path: 'in_place_of_owner', after: 'suspended' });
  });
});

describe('svc apps members', () => {
  test('lists everybody of an app, typed alone or with list, by pages', async () => {
    const { O, C, M } = world.people;
    const { slug, run } = await app();
    expect((await run(C, 'members add', '--user', M.email, '--execute')).code).toBe(0);
    const svc = as(O);
    const rows = async (...args: string[]) => {
      const ran = await svc(['apps', 'members', ...args, '--json']);
      expect([args, ran.code, ran.stderr]).toEqual([args, 0, '']);
      return ran
        .json<{ items: Record<string, string>[] }>()
        .items.map(({ role, user_id }) => `${role} ${user_id}`);
    };
    const all = [`owner ${O.id}`, `co_owner ${C.id}`, `member ${M.id}`];
    expect(await rows(slug)).toEqual(all);
    expect(await rows('list', slug)).toEqual(all);
    expect(await rows('--all', slug)).toEqual(all);
    expect(await rows(slug, '--page', '2', '--per-page', '2')).toEqual(all.slice(2));
    expect(await rows('--per-page', '2', slug)).toEqual(all.slice(0, 2));
    expect((await svc(['apps', 'members', slug, '--per-page', '201'])).code).toBe(2);
    expect((await svc(['apps', 'members'])).code).toBe(2);
    expect((await svc(['apps', 'members', 'no-such-app'])).code).toBe(5);
    expect((await as(M)(['apps', 'members', slug])).code).toBe(5);
  });

  test('an app named like a command is found by the full command, or after two dashes', async () => {
    const made = await world.as.O('POST', `${world.tenant.base}/apps`, { name: 'Add', slug: 'add' });
    expect(made.status).toBe(201);
    const svc = as(world.people.O);
    for (const line of [
      ['list', 'add'],
      ['--', 'add'],
    ]) {
      const ran = await svc(['apps', 'members', '--json', ...line]);
      expect([line, ran.code, ran.json<{ total: number }>().total]).toEqual([line, 0, 1]);
    }
    expect((await svc(['apps', 'members', 'add'])).code).toBe(2);
  });

  test('add and remove preview, then change; repeats are refused by name', async () => {
    const { O, A, C, M } = world.people;
    const { run, path } = await app();
    const count = async () => (await world.as.O('GET', `${path}/members`)).body.total;
    const preview = await run(O, 'members add', '--user', M.id);
    expect(preview.json()).toMatchObject({ plan: { warnings: [expect.stringContaining('private')] } });
    expect(await count()).toBe(2);
    const added = await run(O, 'members add', '--user', M.id, '--execute');
    expect(added.json()).toMatchObject({ user_id: M.id, role: 'member' });
    const refused = async (words: string, person: Person, user: string) => {
      const ran = await run(person, words, '--user', user, '--execute');
      return [ran.code, codeIn(ran)];
    };
    const again = await run(O, 'members add', '--user', M.email, '--execute');
    expect([again.code, again.json().changed]).toEqual([0, false]);
    for (const user of [C.id, O.id])
      expect(await refused('members add', O, user)).toEqual([6, 'unique_violation']);
    expect(await refused('members add', O, 'nobody')).toEqual([7, 'validation_failed']);
    expect(await refused('members add', A, M.id)).toEqual([4, 'forbidden']);
    expect((await run(O, 'members remove', '--user', M.id)).json()).toMatchObject({ dry_run: true });
    expect(await count()).toBe(3);
    expect((await run(A, 'members remove', '--user', M.id, '--execute')).json()).toMatchObject({
      deleted: true,
    });
    expect(await refused('members remove', O, M.id)).toEqual([5, 'not_found']);
    expect(await count()).toBe(2);
  });
});

describe('svc apps inspection-consent', () => {
  test('is read with or without get, granted and revoked, and keeps a ledger', async () => {
    const { O, C, A } = world.people;
    const { slug, run, path } = await app();
    await world.as.O('POST', `${path}/tables`, { name: 'pets', columns: ['name:text'] });
    const svc = as(O);
    for (const words of ['inspection-consent', 'inspection-consent get'])
      expect((await run(O, words)).json()).toMatchObject({ status: 'never', reads: 0 });
    const inspect = () =>
      as(A)(['apps', 'inspect', slug, '--what', 'tables', '--reason', 'a look', '--execute', '--json']);
    const early = await inspect();
    expect([early.code, codeIn(early)]).toEqual([6, 'consent_required']);

    expect((await run(O, 'inspection-consent set', '--granted')).json()).toMatchObject({ dry_run: true });
    expect((await run(O, 'inspection-consent')).json()).toMatchObject({ status: 'never' });
    const granted = await run(O, 'inspection-consent set', '--granted', '--execute');
    expect(granted.json()).toMatchObject({ status: 'granted', granted_by: O.id });
    expect((await run(O, 'inspection-consent set', '--granted', '--execute')).json()).toMatchObject({
      changed: false,
    });

    const looked = await inspect();
    expect([looked.code, looked.json()]).toMatchObject([0, { tables: [{ name: 'pets' }], reader_id: A.id }]);
    const revoking = await svc(['apps', 'inspection-consent', 'set', '--app', slug, '--revoked']);
    expect(revoking.stdout).toContain('does not undo what was already read');
    expect((await run(C, 'inspection-consent set', '--revoked', '--execute')).json()).toMatchObject({
      status: 'revoked',
      revoked_by: C.id,
      reads: 1,
    });
    const late = await inspect();
    expect([late.code, codeIn(late)]).toEqual([6, 'consent_required']);
    expect((await run(O, 'inspection-consent ledger')).json()).toMatchObject({
      total: 1,
      items: [{ reader_id: A.id, what: 'tables', reason: 'a look' }],
    });
  });

  test('is granted by the owner alone, and inspecting is for admins alone', async () => {
    const { O, C, A } = world.people;
    const { slug, run } = await app();
    const grant = async (person: Person) => {
      const ran = await run(person, 'inspection-consent set', '--granted', '--execute');
      return [ran.code, codeIn(ran)];
    };
    for (const person of [C, A]) expect(await grant(person)).toEqual([4, 'forbidden']);
    expect((await run(O, 'inspection-consent set', '--granted', '--execute')).code).toBe(0);
    for (const person of [O, C]) {
      const ran = await as(person)(['apps', 'inspect', slug, '--what', 'tables', '--reason', 'x', '--json']);
      expect([ran.code, codeIn(ran)]).toEqual([4, 'forbidden']);
    }
  });

  test('needs one of --granted and --revoked, and a known --what: otherwise exit 2', async () => {
    const { run, slug } = await app();
    const { O, A } = world.people;
    for (const flags of [[], ['--granted', '--revoked'], ['--granted=false']])
      expect([flags, (await run(O, 'inspection-consent set', ...flags)).code]).toEqual([flags, 2]);
    for (const flags of [
      ['--what', 'rows', '--reason', 'x'],
      ['--what', 'tables'],
      ['--reason', 'x'],
    ])
      expect([flags, (await as(A)(['apps', 'inspect', slug, ...flags])).code]).toEqual([flags, 2]);
  });
});
