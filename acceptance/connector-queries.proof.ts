import { expect, test } from 'bun:test';
import mysql from 'mysql2/promise';
import { type MadeQuery, makeQuery } from './suites/random-queries.ts';
import { makeValue, microsOf, toAnswerValue, type Value } from './suites/random-values.ts';
import { answerOf, type ModelColumn, type ModelRow } from './suites/row-model.ts';
import { queryUrl } from './support/database.ts';
import { type GovernedWorld, governedWorld } from './support/governed.ts';
import { hasPostgres15 } from './support/postgres15.ts';
import { newRandom, type Random } from './support/random.ts';
import { repeatConcurrently, until } from './support/until.ts';
import { hasMariaDb, startWarehouse, type Warehouse } from './support/warehouses.ts';

const queries = 700;
const rowsCount = 150;

const id: ModelColumn = { name: 'id', type: 'int', nullable: false };
const plain: ModelColumn[] = [
  { name: 'name', type: 'text', nullable: true },
  { name: 'note', type: 'text', nullable: false },
  { name: 'n', type: 'int', nullable: true },
  { name: 'big', type: 'bigint', nullable: true },
  { name: 'f', type: 'float', nullable: true },
  { name: 'b', type: 'bool', nullable: true },
  { name: 'd', type: 'date', nullable: true },
  { name: 'at', type: 'timestamptz', nullable: true },
];
const columns = [id, ...plain];
const texts = plain.filter(({ type }) => type === 'text');
/** MariaDB has no others in a timestamp. */
const times = [
  '2026-01-02T03:04:05Z',
  '2026-01-02T03:04:05.6Z',
  '2000-01-01T00:00:00Z',
  '2037-12-31T23:59:59.999999Z',
];
const sqlTypes = {
  postgres: { text: 'text collate "en-x-icu"', float: 'double precision', timestamptz: 'timestamptz' },
  mysql: { text: 'varchar(100)', float: 'double', timestamptz: 'timestamp(6) null' },
} as const;

/** MariaDB does not know which of them are the small ones. */
const unknownLetters = /[ẞ𐐀𐐨]/gu;
const known = (kind: Warehouse['kind'], text: string) =>
  kind === 'mysql' ? text.replace(unknownLetters, '') : text;

function makeKnownQuery(kind: Warehouse['kind'], random: Random, rows: readonly ModelRow[]): MadeQuery {
  for (;;) {
    const query = makeQuery(random, random.chance(0.5) ? texts : columns, rows);
    const text = decodeURIComponent(query.parameters.join('&'));
    if (known(kind, text) === text) return query;
  }
}

function makeRows(kind: Warehouse['kind'], random: Random): ModelRow[] {
  return Array.from({ length: rowsCount }, (_, at) => {
    const row = new Map<string, Value | null>([['id', at + 1]]);
    for (const { name, type, nullable } of plain) {
      const value = type === 'timestamptz' ? microsOf(random.pick(times)) : makeValue(type, random);
      const stored = typeof value === 'string' ? known(kind, value) : value;
      row.set(name, nullable && random.chance(0.15) ? null : stored);
    }
    return row;
  });
}

async function fill(warehouse: Warehouse, rows: readonly ModelRow[]): Promise<void> {
  const isPostgres = warehouse.kind === 'postgres';
  const literal = ({ name, type }: ModelColumn, row: ModelRow) => {
    const value = row.get(name) ?? null;
    const shown = toAnswerValue(type, value);
    if (shown === null) return 'null';
    if (type === 'timestamptz' && !isPostgres) return `'${String(shown).replace('T', ' ').replace('Z', '')}'`;
    if (['int', 'bigint', 'float', 'bool'].includes(type)) return String(value);
    const text = String(shown).replaceAll("'", "''");
    return `'${isPostgres ? text : text.replaceAll('\\', '\\\\')}'`;
  };
  const types: Record<string, string> = sqlTypes[warehouse.kind];
  const declared = plain.map(
    ({ name, type, nullable }) => `${name} ${types[type] ?? type}${nullable ? '' : ' not null'}`,
  );
  const values = rows.map((row) => `(${columns.map((column) => literal(column, row)).join(', ')})`);
  await warehouse.query(
    `${isPostgres ? '' : "set time_zone = '+00:00';"}
     create table sales.things (id int primary key, ${declared.join(', ')});
     insert into sales.things values ${values.join(', ')}`,
  );
}

const shown = ({ select }: MadeQuery, rows: readonly ModelRow[]) =>
  rows.map((row) =>
    Object.fromEntries(
      (select ?? columns.map((column) => ({ key: column.name, column }))).map(({ key, column }) => [
        key,
        toAnswerValue(column.type, row.get(column.name) ?? null),
      ]),
    ),
  );

/** Values that are in no name and in no other statement. */
const [word, number] = ['mqxz7', '83651927'];
const markers = new RegExp([word, number, '83651\\.927', '2019-07-23'].join('|'), 'i');

/** Sends marked values in each place of a request, and of a policy. */
async function sendMarked(world: GovernedWorld, connector_id: string, path: string): Promise<number> {
  const filters = [
    ...['eq', 'neq', 'gt', 'has', 'ihas', 'sw', 'iew'].map((op) => `name=${op}.${word}`),
    `name=like.*${word}*`,
    `name=ilike.${word}*`,
    `name=in.(${word},b)`,
    `name=not.eq.${word}`,
    `or=(name.eq.${word},note.sw.${word},n.eq.${number})`,
    `not.and=(name.eq.${word},n.lt.${number})`,
    `n=gt.${number}`,
    `n=in.(${number},2)`,
    `big=lte.${number}`,
    'f=lt.83651.927',
    'd=gte.2019-07-23',
    'at=lt.2019-07-23T01:02:03Z',
    'd=2019-07-23',
  ];
  const marked = { name: word, note: word, n: Number(number), d: '2019-07-23' };
  const requests: [method: string, end: string, body?: object, headers?: Record<string, string>][] = [
    ...filters.map((filter): [string, string] => ['GET', `?${filter}&select=id,${word}:name`]),
    ...filters.slice(0, 4).map((filter): [string, string] => ['GET', `/_count?${filter}`]),
    ['GET', `/_aggregate?select=name,c:count()&name=eq.${word}&having=c.lt.${number}`],
    ['GET', `?name=eq.${word}`, undefined, { accept: 'application/x-ndjson' }],
    ['GET', `/${number}`],
    ['POST', '?dry_run=true', { id: Number(number) + 1, ...marked }],
    ['PATCH', `/${number}?dry_run=true`, marked],
    ['DELETE', `/${number}?dry_run=true`],
  ];
  let answered = 0;
  const send = async (method: string, end: string, body?: object, headers?: Record<string, string>) => {
    const answer = await world.owner.call(method, path + end, body, headers);
    if (answer.status === 200) answered++;
    return answer;
  };
  for (const request of requests) await send(...request);
  const first = await send('GET', `?name=gte.${word}&sort=name&per_page=1`);
  await send('GET', `?name=gte.${word}&sort=name&per_page=1&cursor=${first.body.next_cursor}`);
  await world.policy('sales/things', {
    connector_id,
    enforced: true,
    row_filter: `or=(name.eq.${word},n.eq.${number})`,
    masks: [{ column: 'note', kind: 'constant', args: { value: word } }],
  });
  await until('the policy is in use', async () =>
    (await send('GET', '')).body.data.every(({ note }: { note: string }) => note === word),
  );
  return answered;
}

/** The statements that the server gets while the work is done, without the values that are bound. */
async function statementsDuring({ kind, port, query }: Warehouse, work: () => Promise<unknown>) {
  if (kind === 'postgres') {
    const url = `postgresql://postgres:secret@127.0.0.1:${port}/postgres`;
    const settings = ["log_statement = 'all'", 'log_parameter_max_length = 0'];
    await queryUrl(url, ...settings.map((it) => `alter system set ${it}`), 'select pg_reload_conf()');
    await work();
    const [read] = await queryUrl(
      url,
      `select pg_read_file(current_setting('data_directory') || '/../log') as log`,
    );
    // A refused value is in the text of the error.
    const lines = String(read?.log).split('\n');
    return lines.filter((line) => !/ (ERROR|DETAIL|CONTEXT|HINT): /.test(line));
  }
  await query("set global log_output = 'TABLE'; set global general_log = 1");
  await work();
  const client = await mysql.createConnection({ host: '127.0.0.1', port, user: 'root' });
  // The server writes the values into what it logs of an execution.
  const [rows] = await client.query<mysql.RowDataPacket[]>(
    "select argument from mysql.general_log where command_type in ('Query', 'Prepare') and user_host like '%writer%'",
  );
  await client.end();
  return rows.map(({ argument }) => String(argument));
}

const isAvailable = {
  postgres: hasPostgres15,
  mysql: hasMariaDb,
};

for (const kind of ['postgres', 'mysql'] as const)
  test.skipIf(!isAvailable[kind])(
    `${queries} random queries of a connector (${kind}) give the rows of the model in its order, page by page`,
    async () => {
      const random = newRandom();
      const world = await governedWorld();
      const warehouse = await startWarehouse(kind);
      try {
        const rows = makeRows(kind, random);
        await fill(warehouse, rows);
        const connector_id = await world.connect(warehouse, 'writer');
        const preset_id = await world.preset('read', 'export', 'insert', 'update', 'delete');
        await world.grant(world.owner, '', { connector_id, preset_id, scope_resource_paths: [] });
        const path = `/data/${world.tenant.slug}/_connectors/${kind}/sales/things`;
        const differences: unknown[] = [];
        let found = 0;
        await repeatConcurrently(queries, 4, async () => {
          if (differences.length >= 5) return;
          const query = makeKnownQuery(kind, random, rows);
          const expected = answerOf(rows, id, query);
          const perPage = random.pick([20, 70, 200]);
          const search = [...query.parameters, `per_page=${perPage}`].join('&');
          const got: unknown[] = [];
          let cursor: string | null = null;
          do {
            const next: string = cursor === null ? '' : `&cursor=${cursor}`;
            const { status, body } = await world.owner.call('GET', `${path}?${search}${next}`);
            if (status !== 200) {
              differences.push({ search: decodeURIComponent(search), status, body });
              return;
            }
            got.push(...body.data);
            cursor = body.next_cursor;
          } while (cursor !== null && got.length <= expected.length);
          found += got.length;
          const wanted = shown(query, expected);
          if (JSON.stringify(got) === JSON.stringify(wanted)) return;
          const at = wanted.findIndex((row, i) => JSON.stringify(row) !== JSON.stringify(got[i]));
          differences.push({
            search: decodeURIComponent(search),
            counts: [got.length, wanted.length],
            at,
            got: got[at],
            wanted: wanted[at],
          });
        });
        console.log(`connector model: ${kind}, seed ${random.seed}; ${queries} queries, ${found} rows`);
        expect(differences).toEqual([]);
        expect(found).toBeGreaterThan(queries);

        await warehouse.query(
          `insert into sales.things (id, name, note) values (${number}, '${word}', '${word}'), (83651930, '${word}2', '')`,
        );
        let answered = 0;
        const statements = await statementsDuring(warehouse, async () => {
          answered = await sendMarked(world, connector_id, path);
        });
        console.log(`connector statements: ${kind}, ${answered} answers, ${statements.length} lines`);
        expect(answered).toBeGreaterThan(25);
        expect(statements.filter((text) => text.includes('things')).length).toBeGreaterThan(25);
        expect(statements.filter((text) => markers.test(text))).toEqual([]);
      } finally {
        await warehouse.stop();
      }
    },
  );
