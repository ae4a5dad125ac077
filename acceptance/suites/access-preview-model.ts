import { expect } from 'bun:test';
import { mapConcurrently } from '@svc/contract/concurrency.ts';
import { setApp } from '../support/database.ts';
import {
  type Answered,
  bearer,
  type Call,
  caller,
  done,
  newMember,
  newTenant,
  type Person,
  type Tenant,
  tokenThrough,
} from '../support/people.ts';
import { newRandom, type Random } from '../support/random.ts';
import { lines, ndjson, rowsWorld } from '../support/rows.ts';
import { until } from '../support/until.ts';
import { readerPassword, startWarehouse } from '../support/warehouses.ts';

const regions = ['eu', 'us', 'ap'];
const names = ['Ada', 'bob', 'Zoë', 'Eve ', ''];
const rowsMax = 40;
const concurrency = 4;

interface Row {
  id: number;
  region: string | null;
  name: string;
  email: string;
  n: number | null;
}

function newRows(random: Random): Row[] {
  return random.times(rowsMax, (at) => ({
    id: at + 1,
    region: random.pick([...regions, null]),
    name: random.pick(names),
    email: `${random.pick(['ada', 'b', 'zoe'])}@example.com`,
    n: random.pick([null, -5, 0, 3, 7, 1200]),
  }));
}

const filters = [
  '',
  '',
  'region=eq.eu',
  'region=neq.us',
  'region=eq.@me.region',
  'region=not.eq.@me.region',
  'n=gt.3',
  'n=is.null',
  'or=(region.eq.ap,n.lte.0)',
  'not.and=(region.eq.eu,n.gt.0)',
  'name=ilike.%25o%25&id=gt.5',
  'email=eq.@me.email',
  'id=in.(1,2,3,30)',
  'gone=eq.1',
];
const masks = [
  { column: 'email', kind: 'email' },
  { column: 'email', kind: 'hash' },
  { column: 'email', kind: 'null' },
  { column: 'name', kind: 'redact' },
  { column: 'name', kind: 'partial', args: { first: 1, last: 1 } },
  { column: 'name', kind: 'constant', args: { value: 'x' } },
  { column: 'n', kind: 'round', args: { to: 10 } },
  { column: 'n', kind: 'null' },
];
const columns = ['id', 'region', 'name', 'email', 'n'];

function newPolicy(random: Random): Record<string, unknown> {
  const mode = random.pick(['all', 'all', 'allow', 'deny']);
  const listed = mode === 'all' ? [] : random.some(columns, 1 + random.below(3));
  const isSeen = (name: string) => mode === 'all' || listed.includes(name) === (mode === 'allow');
  const masked = random.some(masks, random.below(3)).filter(({ column }) => isSeen(column));
  return {
    row_filter: random.pick(filters),
    columns: { mode, names: listed },
    masks: [...new Map(masked.map((mask) => [mask.column, mask])).values()],
    enabled: random.chance(0.9),
    actions: random.chance(0.9) ? ['read'] : ['export'],
  };
}

/** The preview says what the rows show: which, how many, with which columns and values. */
function compare(said: string, preview: Answered['body'], real: Answered): boolean {
  const isReader = preview.actions.includes('read');
  if (real.status !== 200) {
    expect([said, isReader]).toEqual([said, false]);
    expect([said, typeof preview.reason]).toEqual([said, 'string']);
    if (real.body.code === 'policy_unresolvable') expect(preview.reason).toContain('does not fit');
    return false;
  }
  const { data } = real.body;
  expect([said, isReader, preview.rows.visible]).toEqual([said, true, data.length]);
  expect([said, preview.sample_withheld]).toEqual([said, null]);
  // Rows whose id is hidden have no order among each other.
  const hasOrder = data.every(({ id }: { id: unknown }) => id !== null && id !== undefined);
  if (hasOrder) expect([said, preview.sample]).toEqual([said, data.slice(0, 5)]);
  else expect([said, preview.sample.length]).toEqual([said, Math.min(5, data.length)]);
  const texts = data.map((row: object) => JSON.stringify(row));
  for (const row of preview.sample) expect(texts).toContain(JSON.stringify(row));
  if (data.length === 0) return true;
  const seen = preview.columns.filter(({ access }: { access: string }) => access !== 'hidden');
  expect([said, seen.map(({ name }: { name: string }) => name)]).toEqual([said, Object.keys(data[0])]);
  return true;
}

interface Size {
  people: number;
  rounds: number;
}

/** Random policies on the grants of people; every second preview tries them before they are saved. */
export async function previewOfConnector(kind: 'postgres' | 'mysql', size: Size): Promise<void> {
  const random = newRandom();
  const warehouse = await startWarehouse(kind);
  try {
    await warehouse.query(`create table sales.things (id int primary key, region varchar(10), name varchar(20) not null,
        email varchar(50) not null, n int);
      insert into sales.things values ${newRows(random).map(sqlRow).join(', ')}`);
    const t = await newTenant();
    const { port, database } = warehouse;
    const connection = {
      host: 'localhost',
      port,
      database,
      username: 'reader',
      password: readerPassword,
      tls: 'require',
    };
    const connector = await done(
      t.admin.call('POST', `${t.base}/connectors`, { name: 'warehouse', kind, connection }),
    );
    await done(t.admin.call('POST', `${t.base}/connectors/warehouse/schema/refresh`));
    const grant = (person: Person, policy_ids: string[]) =>
      done(
        t.admin.call('POST', `${t.base}/grants`, {
          subject_id: person.id,
          connector_id: connector.id,
          preset_id: 'reader',
          policy_ids,
        }),
      );
    await grant(t.admin, []);
    const people = await Promise.all(random.times(size.people, (at) => governed(t, at, random, grant)));
    await compareRounds(t, people, size, random, kind);
  } finally {
    await warehouse.stop();
  }
}

interface Governed {
  person: Person;
  policies: string[];
}

async function governed(
  t: Tenant,
  at: number,
  random: Random,
  grant: (person: Person, policies: string[]) => Promise<unknown>,
): Promise<Governed> {
  const person = await newMember(t);
  const region = regions[at % 4];
  if (region !== undefined)
    await done(t.admin.call('PATCH', `${t.base}/members/${person.id}`, { attributes: { region } }));
  const policies: string[] = [];
  for (let of = 0; of < 2; of++) {
    const body = { name: `${at}-${of}` };
    policies.push((await done(t.admin.call('POST', `${t.base}/access-policies`, body))).id);
  }
  // One grant with both policies, or two alternatives.
  for (const list of random.chance(0.5) ? [policies] : policies.map((id) => [id])) await grant(person, list);
  return { person, policies };
}

async function compareRounds(
  t: Tenant,
  people: readonly Governed[],
  size: Size,
  random: Random,
  kind: string,
) {
  const ask = async (as: Person, policy?: object) =>
    (
      await t.admin.call('POST', `${t.base}/access/preview`, {
        as: as.email,
        connector: 'warehouse',
        resource_path: 'sales/things',
        ...(policy && { policy }),
      })
    ).body;
  let [cases, visible] = [0, 0];
  let readAt = 0;
  for (let round = 0; round < size.rounds; round++) {
    const tried = new Map<Governed, Answered['body']>();
    const changes = people.map((each) => ({
      each,
      id: random.pick(each.policies),
      fields: newPolicy(random),
      isTried: random.chance(0.5),
    }));
    await mapConcurrently(changes, concurrency, async ({ each, id, fields, isTried }) => {
      if (isTried) tried.set(each, await ask(each.person, { id, ...fields }));
      await done(t.admin.call('PATCH', `${t.base}/access-policies/${id}`, fields));
    });
    // Decisions about connectors are cached for half a second.
    await until(
      'the decisions of the round before have ended',
      async () => performance.now() > readAt + 600,
      5_000,
    );
    await mapConcurrently(people, concurrency, async (each) => {
      const path = `/data/${t.id}/_connectors/warehouse/sales/things?per_page=100`;
      const real = await each.person.call('GET', path);
      const preview = tried.get(each) ?? (await ask(each.person));
      const said = `seed ${random.seed}, round ${round}, ${each.person.email}, tried ${tried.has(each)}`;
      if (compare(said, preview, real)) visible++;
      cases++;
    });
    readAt = performance.now();
  }
  expect(visible).toBeGreaterThan(cases / 10);
  console.log(
    `preview = rows on ${kind}: seed ${random.seed}; ${cases} cases, ${visible} with rows; differences: 0`,
  );
}

const sqlText = (text: string | null) => (text === null ? 'null' : `'${text}'`);
const sqlRow = ({ id, region, name, email, n }: Row) =>
  `(${id}, ${sqlText(region)}, ${sqlText(name)}, ${sqlText(email)}, ${n})`;

const alternatives = [
  'any',
  'none',
  'app',
  'own',
  'role:manager',
  'n=gt.3',
  'n=is.null',
  'region=eq.@me.region',
  'region=not.eq.@me.region',
  'or=(region.eq.ap,n.lte.0)',
  'name=in.(@me.roles)',
];

/** Random rules of one table, for people inside the app and outside of it. */
export async function previewOfAppTable(size: { ruleSets: number }): Promise<void> {
  const random = newRandom();
  const world = await rowsWorld();
  const { tenant, owner, server, app } = world;
  await setApp(server, app.id, { visibility: 'invite_only' });
  const table = await world.table(
    ['id:int', 'by:uuid', 'region:text:nullable', 'name:text', 'email:text', 'n:int:nullable'],
    { owner_column: 'by' },
  );
  const visitors = await Promise.all(
    ['eu', 'us', undefined, 'eu', 'uninvited'].map(async (region, at) => {
      const person = await newMember(tenant);
      const isInvited = region !== 'uninvited';
      if (isInvited) await done(owner.call('POST', `${app.base}/members`, { user_id: person.id }));
      if (at === 0) await done(owner.call('POST', `${app.base}/roles`, { role: 'manager', user: person.id }));
      if (isInvited && region !== undefined)
        await done(
          tenant.admin.call('PATCH', `${tenant.base}/members/${person.id}`, { attributes: { region } }),
        );
      const token = isInvited ? await tokenThrough(server, person, `${tenant.slug}/${app.slug}`) : null;
      return { person, inApp: token === null ? null : caller(server, bearer({ token }), table.path) };
    }),
  );
  const given = { principal_type: 'user', principal_id: visitors[1]!.person.id, actions: ['read'] };
  await done(table.shape('POST', '/grants', given));
  const people = [...visitors, { person: owner, inApp: await ownerInApp() }];
  const rows = newRows(random).map((row) => ({ ...row, by: random.pick(people).person.id }));
  await done(table.send('POST', '', lines(rows), ndjson));
  let [cases, visible] = [0, 0];
  for (let set = 0; set < size.ruleSets; set++) {
    const list = () => random.times(1 + random.below(2), () => random.pick(alternatives));
    const limited = random.chance(0.5) ? { columns: { email: { read: list() } } } : { columns: {} };
    await done(table.shape('PUT', '/access', { read: list(), write: ['none'], ...limited }));
    const asked = people.flatMap(({ person, inApp }) => [
      ...(inApp ? [{ person, via: 'app', read: inApp }] : []),
      { person, via: 'console', read: caller(server, bearer(person), table.path) },
    ]);
    await mapConcurrently(asked, concurrency, async ({ person, via, read }) => {
      const body = { as: person.email, app: app.slug, table: table.name, via };
      const preview = (await owner.call('POST', `${tenant.base}/access/preview`, body)).body;
      const said = `seed ${random.seed}, set ${set}, ${person.email}, ${via}`;
      if (compare(said, preview, await read('GET', '?per_page=100'))) visible++;
      cases++;
    });
  }
  expect(visible).toBeGreaterThan(0);
  console.log(
    `preview = rows of an app: seed ${random.seed}; ${cases} cases, ${visible} with rows; differences: 0`,
  );

  async function ownerInApp(): Promise<Call> {
    const token = await tokenThrough(server, owner, `${tenant.slug}/${app.slug}`);
    return caller(server, bearer({ token }), table.path);
  }
}
