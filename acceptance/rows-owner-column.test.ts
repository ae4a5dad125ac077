import { beforeAll, expect, test } from 'bun:test';
import { lineOf } from './support/citus.ts';
import { bearer, type Call, newPerson, type Person } from './support/people.ts';
import { comparable, grant, lines, ndjson, type RowsWorld, rowsWorld } from './support/rows.ts';

let world: RowsWorld;
let member: Person;
let admin: Person;

beforeAll(async () => {
  world = await rowsWorld();
  admin = world.tenant.admin;
  member = await newPerson(world.server, { tenant: world.tenant.id, role: 'tenant_member' });
});

async function owned(type = 'text') {
  const table = await world.table(['a:int', `by:${type}`, 'k:text:nullable'], { owner_column: 'by' });
  await table.shape('POST', '/indexes', { columns: ['k'], unique: true });
  await grant(table, 'role', 'tenant_member', ['read', 'write']);
  return { table, theirs: world.as(bearer(member), table), others: world.as(bearer(admin), table) };
}

test('an owner column is set to the person who inserts; people with a grant read and change only their own rows', async () => {
  for (const type of ['text', 'uuid']) {
    const { table, theirs, others } = await owned(type);
    const mine = (await theirs('POST', '', { a: 1 })).body;
    const other = (await others('POST', '', { a: 2 })).body;
    const [owners] = await table.insert({ a: 3 });
    expect([mine.by, other.by, owners.by]).toEqual([member.id, admin.id, world.owner.id]);
    expect((await theirs('GET')).body.data).toEqual([mine]);
    expect((await theirs('GET', '/_count?or=(a.gt.0,by.is.not_null)')).body).toEqual({
      count: 1,
    });
    for (const count of ['exact', 'capped', 'estimated'])
      expect((await theirs('GET', `/_count?count=${count}`)).body.count).toBe(1);
    expect((await theirs('GET', '', undefined, { accept: 'application/x-ndjson' })).text).toBe(
      `${JSON.stringify(mine)}\n`,
    );
    const absent = Bun.randomUUIDv7();
    for (const id of [other.id, owners.id]) {
      for (const [method, body, headers] of [
        ['GET', undefined, {}],
        ['PATCH', { a: 9 }, {}],
        ['DELETE', undefined, {}],
        ['PATCH', { a: 9 }, { 'if-match': '*' }],
        ['DELETE', undefined, { 'if-match': '"1.1"' }],
      ] as const) {
        const [foreign, none] = [
          await theirs(method, `/${id}`, body, headers),
          await theirs(method, `/${absent}`, body, headers),
        ];
        expect(comparable(foreign)).toEqual(comparable(none));
        expect(foreign.status).toBe(404);
      }
    }
    // The app’s owners act on all rows.
    expect(await table.list('?sort=a')).toEqual([mine, other, owners]);
    expect((await table.send('PATCH', `/${mine.id}`, { a: 5 })).status).toBe(200);
  }
});

test('people with a grant cannot set an owner column to somebody else, and nobody can change it', async () => {
  const { table, theirs } = await owned();
  for (const by of [admin.id, '', member.id.toUpperCase()]) {
    const answer = await theirs('POST', '', { a: 1, by });
    expect([answer.status, answer.body.errors]).toMatchObject([400, [{ column: 'by', code: 'read_only' }]]);
    expect((await theirs('POST', '', lines([{ a: 1 }, { a: 1, by }]), ndjson)).body.errors).toMatchObject([
      { line: 2, column: 'by' },
    ]);
  }
  const mine = (await theirs('POST', '', { a: 1, by: member.id })).body;
  for (const send of [theirs, table.send])
    expect((await send('PATCH', `/${mine.id}`, { by: member.id })).status).toBe(400);
  const [given] = await table.insert({ a: 2, by: admin.id });
  expect(given.by).toBe(admin.id);
  expect((await table.send('GET', '/_count')).body.count).toBe(2);
});

test('an upsert neither changes nor returns a row of another owner', async () => {
  const { table, theirs } = await owned();
  const [foreign] = await table.insert({ a: 1, k: 'x' });
  const prefer = (resolution: string) => ({ ...ndjson, prefer: `resolution=${resolution}-duplicates` });
  const merged = await theirs(
    'POST',
    '?on_conflict=k',
    lines([
      { a: 9, k: 'x' },
      { a: 8, k: 'y' },
    ]),
    prefer('merge'),
  );
  expect([merged.status, merged.body.code]).toEqual([409, 'unique_violation']);
  const ignored = await theirs(
    'POST',
    '?on_conflict=k',
    lines([
      { a: 9, k: 'x' },
      { a: 8, k: 'y' },
    ]),
    prefer('ignore'),
  );
  expect([ignored.status, ignored.body.inserted]).toEqual([201, 1]);
  expect(JSON.stringify([merged.body, ignored.body])).not.toContain(foreign.id);
  expect((await table.send('GET', `/${foreign.id}`)).body).toEqual(foreign);
});

test('a token reaches the rows of its issuer: own rows with a grant, all rows for an app owner', async () => {
  const { table } = await owned();
  const [row] = await table.insert({ a: 1 });
  const byGrant = world.as({ 'x-api-key': await world.pat(member) }, table);
  expect((await byGrant('GET', `/${row.id}`)).status).toBe(404);
  expect((await byGrant('POST', '', { a: 2 })).body.by).toBe(member.id);
  const byOwner = world.as({ 'x-api-key': await world.pat(world.owner) }, table);
  expect((await byOwner('GET', '/_count')).body.count).toBe(2);
});

test('a preview that conflicts with a hidden row gets the answer of the real call, 20 times a minute', async () => {
  const { table } = await owned();
  const person = await newPerson(world.server, { tenant: world.tenant.id, role: 'tenant_member' });
  const theirs = world.as(bearer(person), table);
  await table.insert({ a: 1, k: 'hidden' });
  const mine = (await theirs('POST', '', { a: 2, k: 'mine' })).body;
  const changes: ['POST' | 'PATCH', string, string, unknown, Record<string, string>][] = [
    ['POST', '', '', { a: 3, k: 'hidden' }, {}],
    ['PATCH', `/${mine.id}`, '', { k: 'hidden' }, {}],
    ['POST', '', '', lines([{ a: 3, k: 'hidden' }, { a: 4 }]), ndjson],
    ['POST', '', 'on_conflict=k', { a: 3, k: 'hidden' }, { prefer: 'resolution=merge-duplicates' }],
  ];
  for (const [method, path, query, body, headers] of changes) {
    const real = await theirs(method, `${path}?${query}`, body, headers);
    const preview = await theirs(method, `${path}?${query}&dry_run=true`, body, headers);
    expect(comparable(preview)).toEqual(comparable(real));
    expect(real.status).toBe(409);
  }
  // A row that the preview leaves out would reveal a hidden one too.
  const ignore = { prefer: 'resolution=ignore-duplicates' };
  const ignored = await theirs('POST', '?on_conflict=k&dry_run=true', { a: 3, k: 'hidden' }, ignore);
  expect([ignored.status, ignored.body.plan.changes[0]]).toMatchObject([200, { after: 0 }]);
  // The real batch of two lines is counted too.
  for (let used = changes.length + 2; used < 20; used++)
    expect((await theirs('POST', '?dry_run=true', { a: 3, k: 'hidden' })).status).toBe(409);
  // The limit is for every preview from here on: otherwise the limit itself would reveal hidden rows.
  for (const k of ['hidden', 'free', 'mine']) {
    const limited = await theirs('POST', '?dry_run=true', { a: 3, k });
    expect([limited.status, limited.body.code]).toEqual([429, 'rate_limited']);
    expect(Number(limited.headers.get('retry-after'))).toBeWithin(1, 61);
  }
  expect((await theirs('POST', '', { a: 3, k: 'free' })).status).toBe(201);
  expect((await theirs('POST', '', { a: 3, k: 'hidden' })).status).toBe(409);
});

test('a preview that refers to a hidden row, or deletes one that hidden rows refer to, is limited too', async () => {
  const hidden = await world.table(['name:text'], { access: 'closed' });
  const [ada, ben] = [await world.visitor(), await world.visitor()];
  const child = await world.table([`to:ref:${hidden.name}`], { access: 'read-write' });
  const parent = await world.table(['name:text'], { access: 'read-write' });
  const closed = await world.table([`to:ref:${parent.name}`], { access: 'closed' });
  const [used, free] = await parent.insert({ name: 'used' }, { name: 'free' });
  await closed.insert({ to: used.id });
  const wrong = { to: crypto.randomUUID() };
  const operation = { op: 'insert', table: child.name, values: wrong };
  const previews = {
    single: () => ada.of(child)('POST', '?dry_run=true', wrong),
    many: () => ada.of(child)('POST', '?dry_run=true', lines([wrong, wrong]), ndjson),
    plan: () => ada.of(child)('POST', '', wrong, { 'if-plan': 'none' }),
    batch: () => ada.of({ path: world.data })('POST', '/_batch?dry_run=true', { operations: [operation] }),
  };
  const real = await ada.of(child)('POST', '', wrong);
  expect(comparable(await previews.single())).toEqual(comparable(real));
  for (let count = 1; count < 20; count++)
    expect((await Object.values(previews)[count % 4]?.())?.status).toBe(400);
  for (const preview of Object.values(previews)) expect((await preview()).status).toBe(429);
  const deletion = (row: { id: string }, search = '?dry_run=true') =>
    ben.of(parent)('DELETE', `/${row.id}${search}`);
  expect(comparable(await deletion(used))).toEqual(comparable(await deletion(used, '')));
  for (let count = 1; count < 20; count++) expect((await deletion(used)).status).toBe(409);
  for (const row of [used, free]) expect((await deletion(row)).status).toBe(429);
  // The owner sees all of them.
  for (let count = 0; count < 21; count++)
    expect((await child.send('POST', '?dry_run=true', wrong)).status).toBe(400);
});

test('several operations or lines that fail together leave no trace: their conflicts are limited as those of previews', async () => {
  const { table } = await owned();
  const hidden = await world.table(['name:text'], { access: 'closed' });
  const child = await world.table([`to:ref:${hidden.name}`], { access: 'read-write' });
  const person = await newPerson(world.server, { tenant: world.tenant.id, role: 'tenant_member' });
  const visitor = await world.visitor();
  await table.insert({ a: 1, k: 'hidden' });
  const failing = (table: string) => ({ op: 'update', table, id: crypto.randomUUID(), values: {} });
  const probe = (values: object, table: string) => ({ op: 'insert', table, values });
  const batch = (by: Call, ...operations: object[]) => by('POST', '/_batch', { operations });
  const [theirs, visitors] = [
    world.as(bearer(person), { path: world.data }),
    visitor.of({ path: world.data }),
  ];
  const theirRows = world.as(bearer(person), table);
  const taken = { a: 2, k: 'hidden' };
  const missing = { to: crypto.randomUUID() };
  const guess = (count: number) =>
    count % 2 === 0
      ? batch(theirs, probe(taken, table.name), failing(table.name))
      : theirRows('POST', '', lines([taken, taken]), ndjson);
  const guessId = () => batch(visitors, probe(missing, child.name), failing(child.name));
  for (const [ask, status] of [
    [guess, 409],
    [guessId, 400],
  ] as const) {
    for (let count = 0; count < 20; count++) {
      const { status: answered, body } = await ask(count);
      const [{ operation, line }] = body.errors;
      const isLine = operation === undefined;
      expect([answered, isLine ? line : operation]).toEqual([status, isLine ? lineOf(1) : 0]);
    }
    for (const count of [0, 1]) {
      const limited = await ask(count);
      expect([limited.status, limited.body.code]).toEqual([429, 'rate_limited']);
      expect(Number(limited.headers.get('retry-after'))).toBeWithin(1, 61);
    }
  }
  // Also where nothing would conflict: otherwise the limit itself would reveal hidden rows.
  const free = probe({ a: 3, k: 'free' }, table.name);
  expect((await batch(theirs, free, free)).status).toBe(429);
  expect((await theirRows('POST', '?dry_run=true', taken)).status).toBe(429);
  // One operation is a request of its own, and either stores a row or answers as that.
  expect((await batch(theirs, probe(taken, table.name))).status).toBe(409);
  expect((await batch(theirs, free)).status).toBe(200);
  expect((await theirRows('POST', '', lines([{ a: 3, k: 'line' }]), ndjson)).status).toBe(201);
  // The owner sees all rows.
  const owners = world.as(bearer(world.owner), { path: world.data });
  for (let count = 0; count < 21; count++)
    expect((await batch(owners, probe(taken, table.name), failing(table.name))).status).toBe(409);
});

test('a preview that conflicts is not counted for people who see all rows', async () => {
  const { table } = await owned();
  await table.insert({ a: 1, k: 'x' });
  for (let count = 0; count < 25; count++)
    expect((await table.send('POST', '?dry_run=true', { a: 3, k: 'x' })).status).toBe(409);
});
