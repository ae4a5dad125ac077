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
  uniqueName,
} from '../support/people.ts';
import { newRandom, type Random } from '../support/random.ts';
import { lines, ndjson, rowsWorld } from '../support/rows.ts';
import { until } from '../support/until.ts';
import { connectionTo, startWarehouse } from '../support/warehouses.ts';
import { comparePreview, newCounts, type Row } from './preview-answers.ts';

const regions = ['eu', 'us', 'ap'];
const names = ['Ada', 'bob', 'Zoë', 'Eve ', ''];
const rowsMax = 40;
const concurrency = 4;

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
  'name=neq.@me.groups',
  'or=(region.eq.eu,name.in.(@me.groups))',
  'name=not.in.(@me.roles)',
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

interface Size {
  people: number;
  rounds: number;
}

/** Random policies on the grants of people; every second preview tries them before they are saved. */
export async function previewOfConnector(kind: 'postgres' | 'mysql', size: Size): Promise<void> {
  const random = newRandom();
  const warehouse = await startWarehouse(kind);
  const rows = newRows(random);
  try {
    await warehouse.query(`create table sales.things (id int primary key, region varchar(10), name varchar(20) not null,
        email varchar(50) not null, n int);
      insert into sales.things values ${rows.map(sqlRow).join(', ')}`);
    const t = await newTenant();
    const connection = connectionTo(warehouse, 'writer');
    const connector = await done(
      t.admin.call('POST', `${t.base}/connectors`, { name: 'warehouse', kind, connection, writable: true }),
    );
    await done(t.admin.call('POST', `${t.base}/connectors/warehouse/schema/refresh`));
    const grant: GrantTo = (person, policy_ids, preset_id = 'reader') =>
      done(
        t.admin.call('POST', `${t.base}/grants`, {
          subject_id: person.id,
          connector_id: connector.id,
          preset_id,
          policy_ids,
        }),
      );
    await grant(t.admin, []);
    const people = await Promise.all(random.times(size.people, (at) => governed(t, at, random, grant)));
    await compareRounds(t, people, { ...size, random, kind, rows });
  } finally {
    await warehouse.stop();
  }
}

type GrantTo = (person: Person, policies: string[], preset?: string) => Promise<unknown>;

interface Governed {
  person: Person;
  policies: string[];
}

async function governed(t: Tenant, at: number, random: Random, grant: GrantTo): Promise<Governed> {
  const person = await newMember(t);
  const region = regions[at % 4];
  if (region !== undefined)
    await done(t.admin.call('PATCH', `${t.base}/members/${person.id}`, { attributes: { region } }));
  const policies: string[] = [];
  for (let of = 0; of < 2; of++) {
    const body = { name: `${at}-${of}` };
    policies.push((await done(t.admin.call('POST', `${t.base}/access-policies`, body))).id);
  }
  const actions = ['insert', 'update', 'delete', 'export'].filter(() => random.chance(0.5));
  const preset = { name: uniqueName('preset'), actions: ['read', ...actions] };
  const { id: presetId } = await done(t.admin.call('POST', `${t.base}/presets`, preset));
  // One grant with both policies, or two alternatives.
  for (const list of random.chance(0.5) ? [policies] : policies.map((id) => [id]))
    await grant(person, list, presetId);
  return { person, policies };
}

async function compareRounds(
  t: Tenant,
  people: readonly Governed[],
  { rounds, random, kind, rows }: Size & { random: Random; kind: string; rows: readonly Row[] },
) {
  const stored = new Map(rows.map((row) => [row.id, row]));
  const counts = newCounts();
  const ask = (as: Person, policy?: object) =>
    done(
      t.admin.call('POST', `${t.base}/access/preview`, {
        as: as.email,
        connector: 'warehouse',
        resource_path: 'sales/things',
        ...(policy && { policy }),
      }),
    );
  let [cases, visible] = [0, 0];
  let readAt = 0;
  for (let round = 0; round < rounds; round++) {
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
      const path = `/data/${t.id}/_connectors/warehouse/sales/things`;
      const send = caller(t.server, bearer(each.person), path);
      const preview = tried.get(each) ?? (await ask(each.person));
      const said = `seed ${random.seed}, round ${round}, ${each.person.email}, tried ${tried.has(each)}`;
      if (await comparePreview(preview, { said, send, stored, random }, counts)) visible++;
      cases++;
    });
    readAt = performance.now();
  }
  expect(visible).toBeGreaterThan(cases / 10);
  expect(Math.min(...Object.values(counts))).toBeGreaterThan(cases / 20);
  console.log(
    `preview = rows on ${kind}: seed ${random.seed}; ${cases} cases, ${visible} with rows; ${countWords(counts)}; differences: 0`,
  );
}

const countWords = ({ clear, masked, allowed, refused, certain }: ReturnType<typeof newCounts>) =>
  `${clear} columns clear and ${masked} masked, ${allowed} actions allowed, ${certain} of them as the words say, and ${refused} refused`;
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
  'name=neq.@me.groups',
  'or=(n.is.null,name.in.(@me.groups))',
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
  const stored = new Map(rows.map((row) => [row.id, row]));
  const counts = newCounts();
  let [cases, visible] = [0, 0];
  for (let set = 0; set < size.ruleSets; set++) {
    const list = () => random.times(1 + random.below(2), () => random.pick(alternatives));
    const limited = random.chance(0.5) ? { columns: { email: { read: list() } } } : { columns: {} };
    await done(
      table.shape('PUT', '/access', {
        read: list(),
        insert: list(),
        update: list(),
        delete: list(),
        ...limited,
      }),
    );
    const asked = people.flatMap(({ person, inApp }) => [
      ...(inApp ? [{ person, via: 'app', send: inApp }] : []),
      { person, via: 'console', send: caller(server, bearer(person), table.path) },
    ]);
    await mapConcurrently(asked, concurrency, async ({ person, via, send }) => {
      const body = { as: person.email, app: app.slug, table: table.name, via };
      const preview = (await owner.call('POST', `${tenant.base}/access/preview`, body)).body;
      const said = `seed ${random.seed}, set ${set}, ${person.email}, ${via}`;
      if (await comparePreview(preview, { said, send, stored, random }, counts)) visible++;
      cases++;
    });
  }
  expect(visible).toBeGreaterThan(0);
  if (cases > 100) expect(Math.min(...Object.values(counts))).toBeGreaterThan(0);
  console.log(
    `preview = rows of an app: seed ${random.seed}; ${cases} cases, ${visible} with rows; ${countWords(counts)}; differences: 0`,
  );

  async function ownerInApp(): Promise<Call> {
    const token = await tokenThrough(server, owner, `${tenant.slug}/${app.slug}`);
    return caller(server, bearer({ token }), table.path);
  }
}
