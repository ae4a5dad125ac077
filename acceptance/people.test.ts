import { beforeAll, describe, expect, test } from 'bun:test';
import { useFixture } from '../scripts/use-fixture.ts';
import { createClient } from '../sdk/src/main.ts';
import { queryDatabase } from './support/database.ts';
import { bearer, type Call, caller, done, newMember, type Person } from './support/people.ts';
import { rowsWorld } from './support/rows.ts';

const world = useFixture(rowsWorld);
/** Ada and Ben order lunch, Mona is a manager; Zoe uses the app and has no rows. */
const ada = useFixture(newVisitor);
const ben = useFixture(newVisitor);
const mona = useFixture(() => newVisitor('manager'));
const zoe = useFixture(newVisitor);

async function newVisitor(role?: string) {
  const visitor = await world.visitor(role);
  const data = visitor.of({ path: world.data });
  return { ...visitor, people: (...ids: string[]) => data('GET', `/_people?ids=${ids.join(',')}`) };
}

beforeAll(async () => {
  const orders = await world.table(['by:uuid', 'dish:text'], {
    owner_column: 'by',
    access: { preset: 'own', read: ['own', 'role:manager'] },
  });
  for (const person of [ada, ben]) await done(person.of(orders)('POST', '', { dish: 'soup' }));
});

const idsOf = async (answer: ReturnType<Call>) =>
  (await done(answer)).data.map(({ id }: { id: string }) => id).sort();
const sorted = (...people: Person[]) => people.map(({ id }) => id).sort();

describe('names of people', () => {
  test('are those of the rows that the caller may read, and their own', async () => {
    const everybody = [ada.id, ben.id, mona.id, zoe.id, world.owner.id, world.tenant.outsider.id];
    expect(await idsOf(ada.people(...everybody))).toEqual([ada.id]);
    expect(await idsOf(mona.people(...everybody))).toEqual(sorted(ada, ben, mona));
    expect(await idsOf(zoe.people(...everybody))).toEqual([zoe.id]);
    const owner = caller(world.server, bearer(world.owner), world.data);
    expect(await idsOf(owner('GET', `/_people?ids=${everybody}`))).toEqual(sorted(ada, ben, world.owner));
  });

  test('come without e-mail addresses, unless that scope of the app is approved or the caller owns it', async () => {
    const emails = async (answer: ReturnType<Call>) =>
      Object.fromEntries(
        (await done(answer)).data.map(({ id, email }: { id: string; email: string }) => [id, email]),
      );
    expect(await emails(mona.people(ada.id, mona.id))).toEqual({ [ada.id]: null, [mona.id]: mona.email });
    const owner = caller(world.server, bearer(world.owner), world.data);
    expect(await emails(owner('GET', `/_people?ids=${ada.id}`))).toEqual({ [ada.id]: ada.email });
    const setScopes = (data_scopes: string[]) =>
      done(world.owner.call('PATCH', world.app.base, { data_scopes }));
    await setScopes(['people:email']);
    expect(await emails(mona.people(ada.id))).toEqual({ [ada.id]: null });
    await queryDatabase(
      world.server,
      'update svc.apps set approved_data_scopes = data_scopes where id = $1',
      [world.app.id],
    );
    expect(await emails(mona.people(ada.id))).toEqual({ [ada.id]: ada.email });
    await setScopes([]);
  });

  test('are found in columns that a rule compares with the caller, and not in others', async () => {
    const rules = { preset: 'closed', read: ['role:manager', 'assignee=eq.@me.id'] };
    const tasks = await world.table(['assignee:uuid', 'other:uuid'], { access: rules });
    await tasks.insert({ assignee: zoe.id, other: world.owner.id });
    expect(await idsOf(mona.people(zoe.id, world.owner.id))).toEqual([zoe.id]);
    expect(await idsOf(ada.people(zoe.id, world.owner.id))).toEqual([]);
  });

  test('are absent where the owner column is hidden, and where the person is of another tenant', async () => {
    const secret = await world.table(['by:uuid', 'note:text'], {
      owner_column: 'by',
      access: { preset: 'read-write', columns: { by: { read: ['none'], write: ['any'] } } },
    });
    await secret.insert({ by: zoe.id, note: 'a' }, { by: world.tenant.outsider.id, note: 'b' });
    const open = await world.table(['by:uuid'], { owner_column: 'by', access: 'read-write' });
    await open.insert({ by: world.tenant.outsider.id });
    expect(await idsOf(ben.people(zoe.id, world.tenant.outsider.id))).toEqual([]);
  });

  test('need ids, at most 100 of them', async () => {
    const { people } = ada;
    const answers = await Promise.all([
      people('x'),
      people(...Array.from({ length: 101 }, () => Bun.randomUUIDv7())),
      people(...Array.from({ length: 100 }, () => Bun.randomUUIDv7())),
      ada.call('GET', `${world.data}/_people`, undefined, bearer({ token: ada.through })),
      ada.call('GET', `${world.data}/_people?id=${ada.id}`, undefined, bearer({ token: ada.through })),
      ada.call('POST', `${world.data}/_people?ids=${ada.id}`, {}, bearer({ token: ada.through })),
    ]);
    expect(answers.map(({ status, body }) => [status, body.code])).toEqual([
      [400, 'validation_failed'],
      [400, 'validation_failed'],
      [200, undefined],
      [400, 'validation_failed'],
      [400, 'unknown_parameter'],
      [405, 'method_not_allowed'],
    ]);
  });

  test('do not exist for those who cannot use the app', async () => {
    const stranger = await newMember(world.tenant);
    const path = `${world.data}/_people?ids=${stranger.id}`;
    expect((await stranger.call('GET', path)).status).toBe(404);
    expect((await world.tenant.outsider.call('GET', path)).status).toBe(404);
    expect((await caller(world.server, {})('GET', path)).status).toBe(401);
  });

  test('come by the SDK as a map', async () => {
    const { server, tenant, app } = world;
    const client = createClient({
      baseUrl: server.baseUrl,
      tenant: tenant.slug,
      app: app.slug,
      auth: { token: () => mona.through },
    });
    const people = await client.people([ada.id, null, zoe.id, ada.id]);
    expect(people.get(ada.id)).toMatchObject({ id: ada.id, email: null });
    expect(people.get(ada.id)?.name).toBeString();
  });
});
