import { expect, test } from 'bun:test';
import { svcFor } from './support/commands.ts';
import { newMember, newTenant, type Tenant } from './support/people.ts';
import { hasPostgres15 } from './support/postgres15.ts';
import { until } from './support/until.ts';
import { hasMariaDb, readerPassword, startWarehouse, type Warehouse } from './support/warehouses.ts';

const isAvailable = hasPostgres15 && hasMariaDb;
const cases = 240;

/** The same numbers in every run. */
function createRandom(seed: number) {
  let state = seed;
  const next = (below: number) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  return { next, one: <T>(items: readonly T[]): T => items[next(items.length)]! };
}

const texts = [
  'a',
  'A',
  'ab',
  'Ab',
  'a ',
  ' a',
  'ä',
  'Ä',
  'z',
  'Z',
  '',
  '%',
  '_',
  '\\',
  "o'k",
  'x"y',
  '日本',
  '😀',
  'a_b',
  'a%b',
];
const columns = {
  name: texts,
  n: ['0', '-1', '7', '2147483647', '-2147483648', '42'],
  big: ['0', '9223372036854775807', '-9223372036854775808', '9007199254740993', '9007199254740992', '5'],
  f: ['0', '0.1', '-2.5', '1e+30', '3', '1.5'],
  b: ['true', 'false'],
  d: ['2026-01-31', '2024-02-29', '0001-01-01', '9999-12-31'],
  at: [
    '2026-01-02T03:04:05Z',
    '2026-01-02T03:04:05.6Z',
    '2000-01-01T00:00:00Z',
    '2026-01-02T04:04:05.000001Z',
  ],
} as const;
type Name = keyof typeof columns;
const names = Object.keys(columns) as Name[];

function createRows() {
  const random = createRandom(7);
  return Array.from({ length: 80 }, (_, at) => {
    const row: Record<string, string | null> = { id: String(at + 1) };
    for (const name of names) row[name] = random.next(8) === 0 ? null : random.one<string>(columns[name]);
    return row;
  });
}

function createQuery(seed: number): string {
  const random = createRandom(seed);
  const test = () => {
    const name = random.one(names);
    const value = () => JSON.stringify(random.one<string>(columns[name]));
    const common = ['eq', 'neq', 'gt', 'gte', 'lt', 'lte', 'in', 'between', 'null', 'not_null'];
    const op = random.one(
      name === 'name' ? [...common, 'sw', 'ew', 'has', 'isw', 'iew', 'ihas', 'like', 'ilike'] : common,
    );
    const not = random.next(4) === 0 ? 'not.' : '';
    if (op === 'null' || op === 'not_null') return `${name}.${not}is.${op}`;
    if (op === 'in') return `${name}.${not}in.(${[value(), value(), value()].join(',')})`;
    if (op === 'between') return `${name}.${not}between.(${value()},${value()})`;
    return `${name}.${not}${op}.${value()}`;
  };
  const group = random.one(['or', 'and', 'not.or', 'not.and']);
  const parts = Array.from({ length: 1 + random.next(3) }, test);
  const sort = [random.one(names), random.one(names)];
  const keys = [...new Set(sort)].map((name) => (random.next(2) === 0 ? `-${name}` : name));
  return `${group}=${encodeURIComponent(`(${parts.join(',')})`)}&sort=${keys.join(',')}&per_page=${random.one([7, 100])}`;
}

test.skipIf(!isAvailable)(
  `${cases} filters and sorts give equal answers on a table of an app, PostgreSQL 15 and MariaDB`,
  async () => {
    const t = await newTenant();
    const svc = svcFor(t.server, { token: t.admin.token, tenant: t.id });
    const run = async (args: string[], stdin?: string) => {
      const ran = await svc([...args, '--execute'], stdin === undefined ? {} : { stdin });
      expect([args.join(' '), ran.code, ran.stderr]).toEqual([args.join(' '), 0, ran.stderr]);
    };
    const rows = createRows();
    await run(['apps', 'create', '--name', 'Same', '--slug', 'same']);
    const types = ['name:text', 'n:int', 'big:bigint', 'f:float', 'b:bool', 'd:date', 'at:timestamptz'];
    const specs = types.flatMap((spec) => ['--column', `${spec}:nullable`]);
    await run(['tables', 'create', 'things', '--app', 'same', '--column', 'id:int', ...specs]);
    const json = (name: string, value: string | null) =>
      value === null || ['id', 'n', 'f', 'b'].includes(name) ? value : JSON.stringify(value);
    const lines = rows.map(
      (row) =>
        `{${Object.entries(row)
          .map(([name, value]) => `"${name}":${json(name, value)}`)
          .join(',')}}\n`,
    );
    await run(['rows', 'import', 'things', '--app', 'same', '--from-file', '-'], lines.join(''));
    const warehouses = await Promise.all(
      (['postgres', 'mysql'] as const).map((kind) => startWarehouse(kind)),
    );
    try {
      const paths = [`/data/${t.id}/same/things`];
      for (const warehouse of warehouses) {
        await fill(warehouse, rows);
        const connection = {
          host: 'localhost',
          port: warehouse.port,
          database: warehouse.database,
          username: 'reader',
          password: readerPassword,
          tls: 'require',
        };
        const { kind } = warehouse;
        const made = await t.admin.call('POST', `${t.base}/connectors`, { name: kind, kind, connection });
        expect(made.status).toBe(201);
        const refresh = () => t.admin.call('POST', `${t.base}/connectors/${kind}/schema/refresh`);
        await until('the tables are known', async () => (await refresh()).status === 200);
        const grant = { subject_id: t.admin.id, connector_id: made.body.id, preset_id: 'reader' };
        expect((await t.admin.call('POST', `${t.base}/grants`, grant)).status).toBe(201);
        paths.push(`/data/${t.id}/_connectors/${kind}/sales/things`);
      }
      const select = 'select=id,name,n,big,f,b,d,at';
      let matched = 0;
      for (let seed = 1; seed <= cases; seed++) {
        const query = `${createQuery(seed)}&${select}`;
        const [app, ...others] = await Promise.all(
          paths.map((path) => allPages((p) => t.admin.call('GET', p), path, query)),
        );
        matched += app!.length;
        for (const [at, other] of others.entries())
          expect([seed, decodeURIComponent(query), paths[at + 1], other]).toEqual([
            seed,
            decodeURIComponent(query),
            paths[at + 1],
            app!,
          ]);
      }
      expect(matched).toBeGreaterThan(cases * 5);
      await compareGroups(t, paths);
      await compareMasks(t, paths.slice(1));
      console.log(`filters: ${cases} queries, ${matched} rows, equal on 3 databases`);
    } finally {
      await Promise.all(warehouses.map(({ stop }) => stop()));
    }
  },
);

const groupings = 80;

/** Sums of floats depend on the order of the rows, so there are none. */
function createGrouping(seed: number): string {
  const random = createRandom(seed);
  const parts = ['year', 'quarter', 'month', 'week', 'day'];
  const key = () => {
    const name = random.one(names);
    if (name === 'at') return `at.${random.one([...parts, 'hour'])}()`;
    return name === 'd' && random.next(2) === 0 ? `d.${random.one(parts)}()` : name;
  };
  const value = () => {
    const name = random.one(names);
    const functions = ['count', 'count_distinct'];
    if (name !== 'b') functions.push('min', 'max');
    if (name === 'n' || name === 'big') functions.push('sum', 'avg');
    return random.next(4) === 0 ? 'count()' : `${name}.${random.one(functions)}()`;
  };
  const items = [key(), value(), value(), ...(random.next(2) === 0 ? [key()] : [])];
  const select = items.map((item, at) => `k${at}:${item}`).join(',');
  const having = random.one(['', '&having=k1.is.not_null', '&having=or(k1.is.null,k2.is.not_null)']);
  return `select=${select}${having}&sort=${random.one(['k1', '-k1', '-k2,k1', 'k0'])}&per_page=${random.one([3, 100])}`;
}

async function compareGroups(t: Tenant, paths: readonly string[]): Promise<void> {
  let found = 0;
  for (let seed = 1; seed <= groupings; seed++) {
    const query = createGrouping(seed);
    const [app, ...others] = await Promise.all(
      paths.map((path) => allPages((p) => t.admin.call('GET', p), `${path}/_aggregate`, query)),
    );
    found += app!.length;
    for (const [at, other] of others.entries())
      expect([query, paths[at + 1], other]).toEqual([query, paths[at + 1], app!]);
  }
  expect(found).toBeGreaterThan(groupings);
  console.log(`groups: ${groupings} queries, ${found} groups, equal on 3 databases`);
}

/** Each set is one policy, which narrows a grant for somebody else. */
const maskSets: Record<string, { kind: string; args?: Record<string, unknown> }>[] = [
  {
    name: { kind: 'hash' },
    n: { kind: 'round', args: { to: 10 } },
    at: { kind: 'truncate', args: { unit: 'month' } },
  },
  {
    name: { kind: 'redact' },
    big: { kind: 'hash' },
    d: { kind: 'truncate', args: { unit: 'year' } },
    b: { kind: 'null' },
  },
  {
    name: { kind: 'partial', args: { first: 1, last: 0 } },
    f: { kind: 'round', args: { to: 0.5 } },
    at: { kind: 'hash' },
  },
  {
    name: { kind: 'email' },
    n: { kind: 'hash' },
    big: { kind: 'round', args: { to: 100 } },
    b: { kind: 'hash' },
  },
  {
    name: { kind: 'constant', args: { value: 'x' } },
    n: { kind: 'constant', args: { value: 3 } },
    d: { kind: 'hash' },
  },
];

async function compareMasks(t: Tenant, paths: readonly string[]): Promise<void> {
  const app = { name: 'tables', kind: 'tables', app: 'same' };
  const own = await t.admin.call('POST', `${t.base}/connectors`, app);
  expect(own.status).toBe(201);
  const all = [`/data/${t.id}/_connectors/tables/same/things`, ...paths];
  for (const [at, set] of maskSets.entries()) {
    const masks = Object.entries(set).map(([column, mask]) => ({ column, ...mask }));
    const policy = await t.admin.call('POST', `${t.base}/access-policies`, { name: `set ${at}`, masks });
    expect([at, policy.status]).toEqual([at, 201]);
    const reader = await newMember(t);
    for (const connector_id of ['tables', 'postgres', 'mysql']) {
      const grant = {
        subject_id: reader.id,
        connector_id,
        preset_id: 'reader',
        policy_ids: [policy.body.id],
      };
      expect((await t.admin.call('POST', `${t.base}/grants`, grant)).status).toBe(201);
    }
    for (const sort of ['id', 'name,-n', '-at,d', 'big,f'])
      for (const filter of ['', '&name=gte.a', '&n=is.not_null']) {
        const query = `select=id,name,n,big,f,b,d,at&sort=${sort}&per_page=9${filter}`;
        const [first, ...others] = await Promise.all(
          all.map((path) => allPages((p) => reader.call('GET', p), path, query)),
        );
        for (const other of others) expect([at, query, other]).toEqual([at, query, first!]);
      }
    for (const select of [
      'name,c:count(),m:n.max()',
      'at,b,c:count(),d:big.count_distinct()',
      'd,m:name.min()',
    ]) {
      const query = `select=${select}&per_page=9`;
      const [first, ...others] = await Promise.all(
        all.map((path) => allPages((p) => reader.call('GET', p), `${path}/_aggregate`, query)),
      );
      for (const other of others) expect([at, query, other]).toEqual([at, query, first!]);
    }
  }
}

async function allPages(
  get: (path: string) => Promise<{ status: number; body: { data: unknown[]; next_cursor: string | null } }>,
  path: string,
  query: string,
): Promise<unknown[]> {
  const found: unknown[] = [];
  let cursor: string | null = null;
  do {
    const { status, body } = await get(`${path}?${query}${cursor === null ? '' : `&cursor=${cursor}`}`);
    expect([path, query, status, status === 200 ? '' : body]).toEqual([path, query, 200, '']);
    found.push(...body.data);
    cursor = body.next_cursor;
  } while (cursor !== null);
  return found;
}

async function fill(warehouse: Warehouse, rows: ReturnType<typeof createRows>): Promise<void> {
  const isPostgres = warehouse.kind === 'postgres';
  const [float, time] = isPostgres ? ['double precision', 'timestamptz'] : ['double', 'timestamp(6) null'];
  const quoted = (text: string) =>
    `'${(isPostgres ? text : text.replaceAll('\\', '\\\\')).replaceAll("'", "''")}'`;
  const literal = (name: string, value: string | null) => {
    if (value === null) return 'null';
    if (name === 'b') return value;
    return quoted(name === 'at' && !isPostgres ? value.replace('T', ' ').replace('Z', '') : value);
  };
  const values = rows.map(
    (row) =>
      `(${Object.entries(row)
        .map(([name, value]) => literal(name, value))
        .join(', ')})`,
  );
  const text = isPostgres ? 'text collate "en-x-icu"' : 'varchar(100)';
  await warehouse.query(
    `${isPostgres ? '' : "set time_zone = '+00:00';"}
     create table sales.things (id int primary key, name ${text}, n int, big bigint, f ${float}, b boolean, d date, at ${time});
     insert into sales.things values ${values.join(', ')}`,
  );
}
