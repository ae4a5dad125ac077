import { beforeAll, expect, test } from 'bun:test';
import { bearer, type Call, caller, done, newApp, newMember, type Person } from '../support/people.ts';
import { newRandom } from '../support/random.ts';
import { type ColumnType, columnTypes, insertLines, type RowsWorld, rowsWorld } from '../support/rows.ts';
import { repeatConcurrently } from '../support/until.ts';
import { type MadeQuery, makeQuery } from './random-queries.ts';
import { jsonText, makeValue, microsOf, toAnswerValue, type Value } from './random-values.ts';
import { answerOf, compare, type ModelColumn, type ModelQuery, type ModelRow } from './row-model.ts';

export function rowsModel({ queriesCount }: { queriesCount: number }): void {
  /** Per principal. */
  const rowsPerTable = 130;
  const random = newRandom();

  interface Principal {
    call: Call;
    stream(path: string): Promise<Response>;
    user: Person;
    /** Owners act on all rows, callers with a grant on their own rows. */
    relation: 'owner' | 'by grant';
  }

  interface ModelTable {
    name: string;
    path: string;
    columns: ModelColumn[];
    id: ModelColumn;
    owner: ModelColumn | null;
    rows: ModelRow[];
    /** Callers other than the owners with access, by the principal's name. */
    granted: string[];
  }

  let ground: RowsWorld;
  const principals: Record<string, Principal> = {};
  const tables: ModelTable[] = [];

  beforeAll(async () => {
    ground = await rowsWorld();
    const { tenant, owner, app } = ground;
    const people = await Promise.all(Array.from({ length: 5 }, () => newMember(tenant)));
    const [coOwner, byUser, reader, byRole, byApp] = people as [Person, Person, Person, Person, Person];
    await done(owner.call('POST', `${tenant.base}/apps/${app.id}/co-owners`, { user_id: coOwner.id }));
    const otherApp = await newApp(tenant, { owner: byApp, coOwner: owner });
    const pat = await done(
      owner.call('POST', `${tenant.base}/pats`, { name: 'rows', actions: ['read', 'write'] }),
    );
    const as = (
      user: Person,
      relation: Principal['relation'],
      credential: Record<string, string> = bearer(user),
    ): Principal => ({
      call: caller(tenant.server, credential),
      stream: (path) =>
        fetch(tenant.server.baseUrl + path, { headers: { ...credential, accept: 'application/x-ndjson' } }),
      user,
      relation,
    });
    Object.assign(principals, {
      'the owner': as(owner, 'owner'),
      'a co-owner': as(coOwner, 'owner'),
      "the owner's token": as(owner, 'owner', { 'x-api-key': pat.secret }),
      'a member by a grant to them': as(byUser, 'by grant'),
      'a member by a grant to their role': as(byRole, 'by grant'),
      'the owner of an app with a grant': as(byApp, 'by grant'),
      'a member who may only read': as(reader, 'by grant'),
    });
    const grants = {
      'a member by a grant to them': ['user', byUser.id, ['read', 'write']],
      'the owner of an app with a grant': ['app', otherApp.id, ['read', 'write']],
      'a member who may only read': ['user', reader.id, ['read']],
    } as const;
    const users = [owner, ...people].map(({ id }) => id);
    const plans = [
      { id: null, owner: 'uuid', role: false },
      { id: 'bigint', owner: null, role: false },
      { id: 'text', owner: 'text', role: true },
      { id: 'int', owner: null, role: true },
    ] as const;
    for (const [at, plan] of plans.entries()) {
      const table = await makeTable(`t${at}`, plan, users);
      for (const [name, [principal_type, principal_id, actions]] of Object.entries(grants)) {
        await done(
          owner.call('POST', `${ground.tables}/${table.name}/grants`, {
            principal_type,
            principal_id,
            actions,
          }),
        );
        table.granted.push(name);
      }
      if (plan.role) {
        const grant = { principal_type: 'role', principal_id: 'tenant_member', actions: ['read', 'write'] };
        await done(owner.call('POST', `${ground.tables}/${table.name}/grants`, grant));
        table.granted.push('a member by a grant to their role');
      }
      tables.push(table);
    }
    console.log(`rows model: seed ${random.seed}`);
  });

  /** Names that mean something to SQL, to JavaScript or to the query's own grammar. */
  const names = [
    'orange',
    'android',
    'notes',
    'eq',
    'in',
    'is',
    'null',
    'order',
    'table',
    'limit',
    'from',
    'user',
    'xmin',
    'ctid',
    'constructor',
    'hasownproperty',
    'data',
    'key',
    'value',
    'a',
    'between',
    'like',
    'true',
    'c1',
    'v',
  ];

  async function makeTable(
    name: string,
    plan: { id: ColumnType | null; owner: ColumnType | null },
    users: readonly string[],
  ): Promise<ModelTable> {
    const types = random.some([...columnTypes, ...random.times(5, () => random.pick(columnTypes))], 18);
    const free = random.some(names, types.length);
    const id: ModelColumn = { name: 'id', type: plan.id ?? 'uuid', nullable: false };
    const plain = types.map((type, at) => ({ name: free[at]!, type, nullable: random.chance(0.6) }));
    const owner: ModelColumn | null = plan.owner && { name: 'owned_by', type: plan.owner, nullable: true };
    const declared = [...(plan.id ? [id] : []), ...plain, ...(owner ? [owner] : [])];
    const times = ['created_at', 'updated_at'].map((time) => ({
      name: time,
      type: 'timestamptz' as const,
      nullable: false,
    }));
    await done(
      ground.owner.call('POST', ground.tables, {
        name,
        columns: declared.map(
          (column) => `${column.name}:${column.type}${column.nullable ? ':nullable' : ''}`,
        ),
        owner_column: owner?.name ?? null,
      }),
    );
    for (const column of random.some(plain, 3)) {
      await done(ground.owner.call('POST', `${ground.tables}/${name}/indexes`, { columns: [column.name] }));
    }
    const ids = new Set<Value>();
    const rows = random.times(rowsPerTable, () => {
      const row = new Map<string, Value | null>();
      for (const column of declared) {
        let value = column.nullable && random.chance(0.25) ? null : makeValue(column.type, random);
        if (column === owner && value !== null) value = random.pick(users);
        // No two rows have the same; and a path cannot end in the segments `.` and `..`.
        while (column === id && (ids.has(value!) || /^\.{0,2}$/.test(String(value))))
          value = newId(column.type);
        if (column === id) ids.add(value!);
        row.set(column.name, value);
      }
      return row;
    });
    const lines = rows.map((row) => {
      const members = declared.map(({ name, type }) => {
        return `${JSON.stringify(name)}:${jsonText(type, row.get(name) ?? null, random)}`;
      });
      return `{${random.some(members, members.length).join(',')}}`;
    });
    const path = `${ground.data}/${name}`;
    const made = await insertLines(ground.owner, path, lines);
    // Values that the service generates are taken from its answer; all others are compared with the request.
    for (const [at, row] of rows.entries()) {
      const stored = await done(ground.owner.call('GET', `${path}/${encodeURIComponent(made[at]!)}`));
      if (!plan.id) row.set('id', stored.id);
      for (const time of times) row.set(time.name, microsOf(stored[time.name]));
    }
    const columns = [...(plan.id ? [] : [id]), ...declared, ...times];
    return { name, path, columns, id, owner, rows, granted: [] };
  }

  function newId(type: ColumnType): Value {
    if (type === 'text') return `${String(makeValue('text', random))}${random.below(1000)}`;
    return type === 'bigint' ? BigInt(random.below(2 ** 31)) * 2n ** 20n : random.below(2 ** 30);
  }

  function visibleTo(name: string, table: ModelTable): ModelRow[] | null {
    const { relation, user } = principals[name]!;
    if (relation === 'owner') return table.rows;
    if (!table.granted.includes(name)) return null;
    const { owner } = table;
    return owner ? table.rows.filter((row) => row.get(owner.name) === user.id) : table.rows;
  }

  const principalNames = [
    'the owner',
    'a co-owner',
    "the owner's token",
    'a member by a grant to them',
    'a member by a grant to their role',
    'the owner of an app with a grant',
    'a member who may only read',
  ];

  test.each(principalNames)(
    'random queries of %s give the rows of the model in its order, by page, by cursor, as a stream, and counted',
    async (name) => {
      const differences: unknown[] = [];
      let [asked, found, walks, streams, refused] = [0, 0, 0, 0, 0];
      await repeatConcurrently(queriesCount, 8, async () => {
        if (differences.length >= 3) return;
        const table = random.pick(tables);
        const rows = visibleTo(name, table);
        const query = makeQuery(random, table.columns, table.rows);
        const how = random.chance(0.15) ? 'walk' : random.chance(0.1) ? 'stream' : 'page';
        asked++;
        if (rows === null) {
          refused++;
          const { status, body } = await principals[name]!.call('GET', url(table, query));
          if (status !== 404) differences.push({ table: table.name, status, body });
          return;
        }
        const expected = answerOf(rows, table.id, query);
        found += expected.length;
        const [difference, counted] = await Promise.all([
          check[how](principals[name]!, table, query, expected),
          principals[name]!.call('GET', url({ path: `${table.path}/_count` }, query)),
        ]);
        if (counted.body.count !== expected.length) {
          differences.push({ url: url(table, query), counted: counted.body, expected: expected.length });
        }
        if (how === 'walk') walks++;
        if (how === 'stream') streams++;
        if (difference) differences.push({ table: table.name, how, url: url(table, query), ...difference });
      });
      console.log(
        `rows model: ${name}: ${asked} queries (${walks} cursor walks, ${streams} streams, ${refused} on tables out of reach), ${found} rows; differences: ${differences.length}`,
      );
      expect(differences).toEqual([]);
      expect(asked).toBe(queriesCount);
    },
  );

  type Check = (
    who: Principal,
    table: ModelTable,
    query: MadeQuery,
    expected: ModelRow[],
  ) => Promise<object | null>;

  const check: Record<'page' | 'walk' | 'stream', Check> = {
    async page({ call }, table, query, expected) {
      const perPage = random.pick([1, 2, 7, 50, 199, 200]);
      const pages = Math.ceil(expected.length / perPage);
      const page = random.pick([1, 1, 1 + random.below(pages + 1), pages + 1]);
      const listed = await call('GET', url(table, query, [`page=${page}`, `per_page=${perPage}`]));
      const wanted = {
        data: toAnswerRows(table, query, expected.slice((page - 1) * perPage, page * perPage)),
        page,
        per_page: perPage,
        has_more: expected.length > page * perPage,
      };
      const { next_cursor, ...got } = listed.body;
      if (!wanted.has_more && next_cursor !== null) return { next_cursor };
      return same(got, wanted);
    },

    async walk({ call }, table, query, expected) {
      const perPage = Math.min(200, 1 + random.below(10) + Math.ceil(expected.length / 6));
      const rows: unknown[] = [];
      let cursor: string | null = null;
      do {
        const from: string[] = cursor === null ? [] : [`cursor=${cursor}`];
        const { status, body } = await call('GET', url(table, query, [`per_page=${perPage}`, ...from]));
        if (status !== 200) return { status, body, after: rows.length };
        rows.push(...body.data);
        cursor = body.next_cursor;
      } while (cursor !== null && rows.length <= expected.length);
      return same(rows, toAnswerRows(table, query, expected));
    },

    async stream(who, table, query, expected) {
      for (;;) {
        const response = await who.stream(url(table, query));
        // The number of concurrent streams is limited.
        if (response.status === 503 && response.headers.get('retry-after')) continue;
        const text = await response.text();
        if (response.status !== 200) return { status: response.status, text };
        const lines = text.split('\n');
        if (lines.pop() !== '') return { text: 'does not end in a line end' };
        const rows = lines.map((line) => JSON.parse(line));
        return same(rows, toAnswerRows(table, query, expected));
      }
    },
  };

  function url({ path }: Pick<ModelTable, 'path'>, { parameters }: MadeQuery, more: string[] = []): string {
    return `${path}?${[...parameters, ...more].join('&')}`;
  }

  function toAnswerRows(table: ModelTable, { select }: ModelQuery, rows: readonly ModelRow[]): object[] {
    const items = select ?? table.columns.map((column) => ({ key: column.name, column }));
    return rows.map((row) =>
      Object.fromEntries(
        items.map(({ key, column }) => [key, toAnswerValue(column.type, row.get(column.name) ?? null)]),
      ),
    );
  }

  /** As text, so that the order of keys counts too. */
  function same(got: unknown, wanted: unknown): object | null {
    const [one, other] = [JSON.stringify(got), JSON.stringify(wanted)];
    if (one === other) return null;
    let at = 0;
    while (one[at] === other[at]) at++;
    const around = (text: string) => text.slice(Math.max(0, at - 150), at + 150);
    return { got: around(one), wanted: around(other) };
  }

  test('the model sorts as SQL does: what is equal in it has one place, whatever its spelling', () => {
    expect(compare('float', -0, 0)).toBe(0);
    expect(compare('text', '\ufffd', '😀')).toBeLessThan(0);
    expect(compare('jsonb', [], null)).toBeLessThan(0);
    expect(compare('jsonb', [null], 'a')).toBeGreaterThan(0);
  });
}
