import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type GovernedWorld, governedWorld } from '../support/governed.ts';
import {
  type Answered,
  bearer,
  type Call,
  caller,
  done,
  newMember,
  tokenThrough,
} from '../support/people.ts';
import { newRandom } from '../support/random.ts';
import { comparable } from '../support/rows.ts';
import { startWarehouse, type Warehouse } from '../support/warehouses.ts';

type Kind = Warehouse['kind'];

interface Surface {
  name: string;
  send: Call;
  /** Changes everything that the caller cannot see, and nothing that they can. */
  changeHidden(): Promise<void>;
}

interface Attempt {
  kind: string;
  method: string;
  path: string;
  body?: unknown;
  headers?: Record<string, string>;
  /** How many further pages are read. */
  pages?: number;
  /** An ETag and a cursor of the first world, which are used in the second. */
  etag?: string | undefined;
  cursor?: string | undefined;
}

const visibleIds = Array.from({ length: 24 }, (_, at) => at + 1);
/** In the first world, in the second, in both, and in none. */
const hiddenIds = [101, 102, 103, 104, 105, 106, 201, 202, 203, 901, 902];
const hiddenColumns = ['secret', 'level'];
const texts = ['ada', 'adb', 'Zoë', 'us', 'eu', 'x', 'a•••@example.com', 'ada1@example.com', 's1', 's2', '%'];
const numbers = ['0', '1', '100', '140', '149', '151', '200', '500', '777', '-5'];
/** Of a hidden row or column, and of an absent one, in turns. */
const timed: readonly [method: string, path: string, body?: object][] = [
  ['GET', '/#'],
  ['GET', '?id=eq.#'],
  ['GET', '/_count?id=eq.#'],
  ['PATCH', '/#?dry_run=true', { name: 'x' }],
  ['DELETE', '/#?dry_run=true'],
  ['GET', '?#=eq.s1'],
  ['GET', '/_count?#=eq.s1'],
];
const timedRounds = 21;
const dates = ['2001-01-01', '2001-05-06', '2001-11-12', '1999-01-01'];

/** Asks one set of questions in two worlds that differ only in what the caller may not see: the answers are the same. */
export function policyLeaks(size: {
  /** On each surface. */
  attempts: number;
  kinds: readonly Kind[];
}): void {
  const random = newRandom();
  const surfaces: Surface[] = [];
  const warehouses: Warehouse[] = [];
  let world: GovernedWorld;

  beforeAll(async () => {
    world = await governedWorld();
    const person = await newMember(world.tenant);
    const preset = await world.preset('read', 'export', 'insert', 'update', 'delete');
    surfaces.push(await ruleSurface(person), await grantSurface(person, preset));
    for (const kind of size.kinds) {
      const warehouse = await startWarehouse(kind);
      warehouses.push(warehouse);
      surfaces.push(await connectorSurface(warehouse, person, preset));
    }
  });
  afterAll(async () => {
    for (const warehouse of warehouses) await warehouse.stop();
  });

  const policyFields = {
    row_filter: 'region=eq.eu',
    masks: [
      { column: 'email', kind: 'email' },
      { column: 'total', kind: 'round', args: { to: 100 } },
      { column: 'born', kind: 'truncate', args: { unit: 'year' } },
      { column: 'code', kind: 'partial', args: { first: 1, last: 1 } },
    ],
  };
  const specs = 'id:int region:text name:text email:text total:int born:date code:text secret:text level:int';
  const columns = specs.split(' ').map((spec) => (spec.startsWith('id') ? spec : `${spec}:nullable`));

  const visibleValues = (at: number, w: 1 | 2) => ({
    region: 'eu',
    name: `ada ${at % 5}`,
    email: w === 1 ? `a${at}@example.com` : `a-other-${at}@example.com`,
    total: w === 1 ? 110 + (at % 3) * 100 : 90 + (at % 3) * 100,
    born: w === 1 ? '2001-05-06' : '2001-11-12',
    code: w === 1 ? `k${at % 3}5z` : `k${at % 3}6z`,
    secret: w === 1 ? `s${at}` : null,
    level: w === 1 ? at : 777,
  });
  const hiddenValues = (at: number, w: 1 | 2) => ({
    ...visibleValues(at, w),
    region: w === 1 ? 'us' : 'asia',
    name: w === 1 ? `ada ${at}` : `Zoë ${'y'.repeat(500)}`,
    total: w === 1 ? 777 : 500,
  });
  const ids = { 1: [101, 102, 103, 104, 105, 106], 2: [101, 102, 201, 202, 203] };

  async function appTable(access: object, isMasked: boolean) {
    const table = await world.table(columns, { access });
    // Rules have no masks: what a policy masks stays the same there.
    const valuesOf = (id: number, w: 1 | 2) => {
      const { secret, level } = visibleValues(id, w);
      return isMasked ? visibleValues(id, w) : { ...visibleValues(id, 1), secret, level };
    };
    for (const id of visibleIds) await table.insert({ id, ...valuesOf(id, 1) });
    for (const id of ids[1]) await table.insert({ id, ...hiddenValues(id, 1) });
    return {
      table,
      async changeHidden() {
        for (const id of visibleIds) await done(table.send('PATCH', `/${id}`, valuesOf(id, 2)));
        for (const id of ids[1]) await done(table.send('DELETE', `/${id}`));
        for (const id of ids[2]) await table.insert({ id, ...hiddenValues(id, 2) });
      },
    };
  }

  async function ruleSurface(person: { email: string }): Promise<Surface> {
    const where = ['region=eq.eu'];
    const nobody = { read: ['none'], write: ['none'] };
    const { table, changeHidden } = await appTable(
      {
        read: where,
        insert: where,
        update: where,
        delete: where,
        columns: Object.fromEntries([...hiddenColumns, 'updated_at'].map((name) => [name, nobody])),
      },
      false,
    );
    const { server, tenant, app } = world;
    const token = await tokenThrough(server, person, `${tenant.slug}/${app.slug}`);
    return { name: 'rules of an app', send: world.as(bearer({ token }), table), changeHidden };
  }

  async function grantSurface(person: { id: string; token: string }, preset: string): Promise<Surface> {
    const closed = { read: ['none'], insert: ['none'], update: ['none'], delete: ['none'] };
    const { table, changeHidden } = await appTable(closed, true);
    const path = world.pathOf(table);
    const names = [...hiddenColumns, 'updated_at'];
    const policy = await world.policy(path, { ...policyFields, columns: { mode: 'deny', names } });
    await world.grant(person, path, { preset_id: preset, policy_ids: [policy] });
    return { name: 'grant on an app', send: world.as(bearer(person), table), changeHidden };
  }

  async function connectorSurface(
    warehouse: Warehouse,
    person: { id: string; token: string },
    preset: string,
  ): Promise<Surface> {
    const literal = (value: unknown) => (typeof value === 'string' ? `'${value}'` : String(value));
    const values = (id: number, row: object) => `(${[id, ...Object.values(row)].map(literal).join(', ')})`;
    const rowsOf = (w: 1 | 2) => [
      ...visibleIds.map((id) => values(id, visibleValues(id, w))),
      ...ids[w].map((id) => values(id, hiddenValues(id, w))),
    ];
    const fill = (w: 1 | 2) => `insert into sales.people values ${rowsOf(w).join(', ')}`;
    await warehouse.query(
      `create table sales.people (id int primary key, region varchar(40), name varchar(600), email varchar(200),
        total int, born date, code varchar(40), secret varchar(200), level int); ${fill(1)}`,
    );
    const connector_id = await world.connect(warehouse, 'writer');
    const policy = await world.policy('sales/people', {
      ...policyFields,
      connector_id,
      columns: { mode: 'deny', names: hiddenColumns },
    });
    await world.grant(person, 'sales/people', { connector_id, preset_id: preset, policy_ids: [policy] });
    const path = `/data/${world.tenant.slug}/_connectors/${warehouse.kind}/sales/people`;
    return {
      name: warehouse.kind,
      send: caller(world.server, bearer(person), path),
      changeHidden: () => warehouse.query(`delete from sales.people; ${fill(2)}`),
    };
  }

  const operand = (column: string) =>
    encodeURIComponent(
      random.pick(
        column === 'total' || column === 'id' || column === 'level'
          ? numbers
          : column === 'born'
            ? dates
            : texts,
      ),
    );
  const anyColumn = () =>
    random.pick(['id', 'region', 'name', 'email', 'total', 'born', 'code', ...hiddenColumns]);

  function condition(column = anyColumn()): string {
    const isText = !['id', 'total', 'born', 'level'].includes(column);
    const op = random.pick(
      isText
        ? ['eq', 'neq', 'gt', 'lte', 'like', 'ilike', 'has', 'ihas', 'sw', 'iew']
        : ['eq', 'neq', 'gt', 'gte', 'lt'],
    );
    const test = `${random.chance(0.2) ? 'not.' : ''}${op}.${operand(column)}`;
    if (random.chance(0.6)) return `${column}=${test}`;
    const other = anyColumn();
    const tests = [`${column}.${test}`, `${other}.eq.${operand(other)}`].map((each) =>
      each.replace(/^([^.]+\.(?:not\.)?[^.]+)\.(.*)$/, '$1."$2"'),
    );
    return `${random.pick(['or', 'and', 'not.or'])}=(${tests.join(',')})`;
  }

  const kinds: Record<string, () => Attempt> = {
    filter: () => get(`?${condition()}`),
    sort: () => get(`?sort=${random.pick(['', '-'])}${anyColumn()},${random.pick(['name', '-total'])}`),
    count: () => get(`/_count?${condition()}${random.pick(['', '&count=capped', '&count=estimated'])}`),
    cursor: () => ({
      ...get(`?per_page=${1 + random.below(9)}&sort=${random.pick(['', '-'])}${anyColumn()}`),
      pages: 2,
    }),
    aggregate: () => get(`/_aggregate?select=${groupQuery()}`),
    'aggregate pages': () => ({
      ...get(`/_aggregate?select=${anyColumn()},c:count()&per_page=${1 + random.below(3)}`),
      pages: 2,
    }),
    distinct: () =>
      get(
        random.pick([
          `?distinct=${anyColumn()}&select=${anyColumn()}`,
          `/_count?distinct=${anyColumn()}`,
          `?distinct=${anyColumn()}&sort=${random.pick(['', '-'])}${anyColumn()}`,
        ]),
      ),
    related: () =>
      get(
        random.pick([
          `?select=id,others(${anyColumn()})`,
          `/${anyId()}?select=id,people(*)`,
          '?expand=people',
        ]),
      ),
    search: () => get(`?${random.pick(['name', 'email', 'code', 'secret'])}=ihas.${operand('name')}`),
    row: () => get(`/${anyId()}${random.pick(['', '?select=id,name', '?select=secret', '?select=email'])}`),
    etag: () => get(`/${random.pick(visibleIds)}`),
    export: () => ({ ...get(`?${condition()}`), headers: { accept: 'application/x-ndjson' } }),
    'error text': () =>
      get(
        random.pick([
          `?${anyColumn()}=gt.no-number`,
          `?${anyColumn()}=is.true`,
          `?select=${anyColumn()},nothing`,
          `/${anyId()}x`,
          `?${random.pick(hiddenColumns)}=in.()`,
        ]),
      ),
    'dry run': () => ({
      kind: '',
      ...random.pick([
        { method: 'PATCH', path: `/${anyId()}?dry_run=true`, body: change() },
        { method: 'DELETE', path: `/${anyId()}?dry_run=true` },
        {
          method: 'POST',
          path: '?dry_run=true',
          body: { id: 5_000, region: random.pick(['eu', 'us']), ...change() },
        },
      ]),
    }),
    /** Only what is refused: the worlds must not change otherwise. */
    change: () => ({
      kind: '',
      ...random.pick([
        { method: 'PATCH', path: `/${random.pick(hiddenIds)}`, body: { name: 'x' } },
        { method: 'DELETE', path: `/${random.pick(hiddenIds)}` },
        { method: 'PATCH', path: `/${random.pick(visibleIds)}`, body: { secret: 's1' } },
        { method: 'PATCH', path: `/${random.pick(visibleIds)}`, body: { region: 'us' } },
        { method: 'DELETE', path: `/${random.pick(visibleIds)}`, headers: { 'if-match': '"no"' } },
        { method: 'PATCH', path: `/${random.pick(hiddenIds)}`, body: {}, headers: { 'if-match': '"1.1"' } },
      ]),
    }),
  };
  const groupQuery = () => {
    const over = anyColumn();
    return random.pick([
      `c:count(),x:${over}.max(),m:${over}.min()`,
      `total,c:count(),d:${over}.count_distinct()`,
      `${over},c:count()&sort=-c&having=c.gt.${random.below(4)}`,
      `s:total.sum(),a:total.avg(),l:level.sum()`,
      `y:born.month(),c:count()`,
      `c:count(),s:total.sum()&${condition()}`,
      `${over}.sum(),nothing.max()`,
    ]);
  };
  const get = (path: string): Attempt => ({ kind: '', method: 'GET', path });
  const anyId = () => random.pick([...visibleIds.slice(0, 6), ...hiddenIds]);
  const change = () => ({ [random.pick(['name', 'secret', 'email', 'level', 'nothing'])]: 'x' });

  test('two worlds that differ only in what is hidden give the same answers', async () => {
    const perSurface = size.attempts;
    let asked = 0;
    const answered = new Set<string>();
    const seen: Record<string, number> = {};
    for (const surface of surfaces) {
      const names = Object.keys(kinds);
      const attempts = random.times(perSurface, (at) => {
        const kind = names[at % names.length]!;
        seen[kind] = (seen[kind] ?? 0) + 1;
        return { ...kinds[kind]!(), kind };
      });
      const before = await inTurns(attempts, (attempt) => ask(surface.send, attempt));
      await surface.changeHidden();
      const after = await inTurns(attempts, (attempt) => ask(surface.send, attempt));
      for (const [at, attempt] of attempts.entries()) {
        expect([surface.name, attempt, after[at]]).toEqual([surface.name, attempt, before[at]]);
        asked++;
      }
      const found = before.filter((answers) => answers.some(({ status }) => status === 200));
      // The questions were good ones: many of them were answered.
      expect(found.length).toBeGreaterThan(perSurface / 4);
      for (const [at, { kind }] of attempts.entries()) if (found.includes(before[at]!)) answered.add(kind);
      const shown = JSON.stringify(
        before.map((answers) => answers.map(({ status, body }) => status < 300 && body)),
      );
      expect(/"(secret|level)":|"region":"(us|asia)"/.exec(shown)).toBeNull();
    }
    expect(asked).toBe(perSurface * (2 + size.kinds.length));
    for (const kind of ['aggregate', 'aggregate pages', 'distinct', 'sort', 'count', 'filter', 'export'])
      expect(answered).toContain(kind);
    console.log(
      `policy leaks: seed ${random.seed}; ${asked} attempts on ${surfaces.map(({ name }) => name).join(', ')} (${Object.entries(
        seen,
      )
        .map(([kind, count]) => `${kind} ${count}`)
        .join(', ')}); differences: 0`,
    );
  });

  test('a hidden column answers as one that does not exist', async () => {
    for (const { send, name } of surfaces)
      for (const query of ['?#=eq.1', '?sort=#', '?select=id,#', '/_count?#=is.null', '/1?select=#']) {
        const of = async (column: string) =>
          JSON.stringify(comparable(await send('GET', query.replace('#', column)))).replaceAll(column, '#');
        expect([name, query, await of('secret')]).toEqual([name, query, await of('zecret')]);
      }
  });

  test('what is hidden takes as long as what does not exist', async () => {
    for (const { send, name } of surfaces)
      for (const [method, path, body] of timed) {
        const time = async (what: string | undefined) => {
          const startedAt = performance.now();
          const { status } = await send(method, path.replace('#', what ?? ''), body);
          return { status, ms: performance.now() - startedAt };
        };
        const [hidden, absent] = path.includes('#=') ? ['secret', 'zecret'] : ['101', '901'];
        let ratio = 0;
        // A difference that is there is there each time; one by chance is not.
        for (let attempt = 0; attempt < 4 && !(ratio > 1 / 1.5 && ratio < 1.5); attempt++) {
          const times: Record<string, number[]> = { [hidden!]: [], [absent!]: [] };
          for (let round = 0; round < timedRounds; round++) {
            const turns = round % 2 === 0 ? [hidden, absent] : [absent, hidden];
            const [first, second] = [await time(turns[0]), await time(turns[1])];
            expect([name, method, path, first.status]).toEqual([name, method, path, second.status]);
            times[turns[0]!]!.push(first.ms);
            times[turns[1]!]!.push(second.ms);
          }
          const median = (what = '') => times[what]!.toSorted((a, b) => a - b)[timedRounds >> 1]!;
          ratio = median(hidden) / median(absent);
        }
        expect([name, method, path, ratio > 1 / 1.5 && ratio < 1.5]).toEqual([name, method, path, true]);
      }
  });

  async function inTurns<T>(attempts: readonly Attempt[], work: (attempt: Attempt) => Promise<T>) {
    const results: T[] = [];
    let next = 0;
    const worker = async () => {
      for (let at = next++; at < attempts.length; at = next++) results[at] = await work(attempts[at]!);
    };
    await Promise.all(Array.from({ length: 6 }, worker));
    return results;
  }

  async function ask(send: Call, attempt: Attempt) {
    const { kind, method, path, body, headers, pages = 0 } = attempt;
    const first = await patiently(() => send(method, path, body, headers));
    const answers: Answered[] = [first];
    if (kind === 'etag') {
      attempt.etag ??= first.headers.get('etag') ?? '';
      const { etag } = attempt;
      answers.push(await patiently(() => send('GET', path, undefined, { 'if-none-match': etag })));
    }
    if (pages > 0) {
      attempt.cursor ??= first.body.next_cursor ?? '';
      for (const start of [attempt.cursor, first.body.next_cursor])
        for (let page = 0, cursor = start; page < pages && cursor; page++) {
          const answer = await patiently(() => send('GET', `${path}&cursor=${cursor}`));
          answers.push(answer);
          cursor = answer.body.next_cursor;
        }
    }
    return answers.map(comparable);
  }

  /** A server that is busy says nothing about the rows. */
  async function patiently(call: () => Promise<Answered>): Promise<Answered> {
    for (let attempt = 1; ; attempt++) {
      const answer = await call();
      if (answer.status !== 503 || attempt === 20) return answer;
      await Bun.sleep(50 * attempt);
    }
  }
}
