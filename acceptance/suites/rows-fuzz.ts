import { beforeAll, expect, test } from 'bun:test';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { openServerDatabase } from '../support/database.ts';
import { bearer, newApp } from '../support/people.ts';
import { newRandom } from '../support/random.ts';
import {
  columnTypes,
  insertLines,
  newTable,
  type RowsWorld,
  rowPaths,
  rowsWorld,
  Tally,
} from '../support/rows.ts';
import { type RunningServer, startEmbedded } from '../support/server.ts';

import { repeatConcurrently, until } from '../support/until.ts';
import { allMarks, decodedLoosely, fuzzedSpec, marks, mutated, randomBytes } from './hostile-rows.ts';
import { makeQuery } from './random-queries.ts';
import { jsonText, makeValue, type Value } from './random-values.ts';
import type { ModelColumn, ModelRow } from './row-model.ts';

export function rowsFuzz({
  stringsCount,
  bodiesCount,
  specsCount,
  serversCount,
}: {
  stringsCount: number;
  bodiesCount: number;
  specsCount: number;
  serversCount: number;
}): void {
  const random = newRandom();

  let server: RunningServer;
  let ground: RowsWorld;
  /** All of them contain a marker. */
  const rows: ModelRow[] = [];
  const columns: ModelColumn[] = columnTypes.map((type) => ({
    name: `of_${type.replace('[]', 's').replace(/\W.*/, '')}`,
    type,
    nullable: true,
  }));

  beforeAll(async () => {
    server = await startEmbedded();
    const database = openServerDatabase(server);
    await database.query("alter system set log_statement = 'all'");
    // Logged as well, to prove that values were sent.
    for (const role of ['svc_rows', 'svc_control']) {
      await database.query(`alter role ${role} set log_error_verbosity = 'default'`);
    }
    await database.query('select pg_reload_conf()');
    await database.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where usename in ('svc_rows', 'svc_control')",
    );
    await database.close();
    await until('it is ready again', async () => (await fetch(`${server.baseUrl}/readyz`)).status === 200);
    ground = await rowsWorld(server);
    await newTable(
      ground,
      'fuzzed',
      columns.map(({ name, type }) => `${name}:${type}:nullable`),
      { description: marks.text },
    );
    await ground.owner.call('POST', `${ground.tables}/fuzzed/indexes`, {
      columns: ['of_text'],
      unique: true,
    });
    for (let at = 0; at < 60; at++) rows.push(new Map(columns.map(({ name, type }) => [name, marked(type)])));
    const lines = rows.map((row, at) => {
      const members = columns.map(
        ({ name, type }) => `"${name}":${jsonText(type, row.get(name) ?? null, random)}`,
      );
      return `{${members.join(',')}}`.replace(`"of_text":"`, `"of_text":"${at} `);
    });
    await insertLines(ground.owner, `${ground.data}/fuzzed`, lines);
    console.log(`rows fuzz: seed ${random.seed}`);
  });

  function marked(type: ModelColumn['type']): Value {
    switch (type) {
      case 'text':
        return `${makeValue('text', random)}${marks.text}${makeValue('text', random)}`;
      case 'int':
        return Number(marks.int);
      case 'bigint':
        return BigInt(marks.bigint) * random.pick([1n, -1n]);
      case 'float':
        return Number(marks.int) + 0.5;
      case 'timestamptz':
        return BigInt(Date.UTC(7317, 10, 1 + random.below(20), 0, random.below(60))) * 1000n;
      case 'uuid':
        return marks.uuid;
      case 'jsonb':
        return random.pick([
          marks.text,
          [marks.text],
          { [marks.text]: makeValue('jsonb', random) as string },
        ]);
      default:
        return makeValue(type, random);
    }
  }

  interface Sent {
    method?: string;
    path: string;
    body?: string | Uint8Array<ArrayBuffer>;
    headers?: Record<string, string>;
  }

  /** Failures: a server error, or an error without a problem document. */
  async function faultOf({ method = 'GET', path, body, headers = {} }: Sent, statuses: Tally) {
    const response = await fetch(server.baseUrl + path, {
      method,
      headers: { ...bearer(ground.owner), ...headers },
      ...(body === undefined ? {} : { body }),
    });
    const text = await response.text();
    statuses.add(response.status);
    const isProblem = response.headers.get('content-type') === 'application/problem+json';
    const isFault =
      response.status >= 500 || (response.status >= 400 && (!isProblem || !JSON.parse(text).code));
    return isFault
      ? { status: response.status, text: text.slice(0, 200), method, path, body: String(body) }
      : null;
  }

  async function fuzz(name: string, count: number, make: () => Sent): Promise<void> {
    const statuses = new Tally();
    const faults: unknown[] = [];
    let sent = 0;
    await repeatConcurrently(count, 8, async () => {
      if (faults.length >= 5) return;
      sent++;
      const fault = await faultOf(make(), statuses);
      if (fault) faults.push(fault);
    });
    console.log(`rows fuzz: ${sent} ${name}: ${statuses}; 5xx: ${faults.length}`);
    expect(faults).toEqual([]);
  }

  let cursor = '';

  function fuzzedSearch(): string {
    const { parameters } = makeQuery(random, columns, rows);
    const valid = [...parameters, ...(cursor && random.chance(0.1) ? [`cursor=${cursor}`] : [])].join('&');
    return random.pick([
      valid,
      valid,
      valid,
      ...Array.from({ length: 6 }, () => mutated(random, valid)),
      randomBytes(random),
      `${random.pick(columns).name}=${randomBytes(random)}`,
    ]);
  }

  /** A fragment is not sent; other invalid characters are refused by the client. */
  const sendable = (search: string) => search.replaceAll('#', '%23').replace(/\s/g, '+');

  test('fuzzed query strings are refused or answered: 0 answers are 5xx', async () => {
    const path = `${ground.data}/fuzzed`;
    const { body } = await ground.owner.call('GET', `${path}?per_page=1&sort=-of_text`);
    cursor = body.next_cursor;
    await fuzz('query strings', stringsCount, () => {
      const search = sendable(fuzzedSearch());
      return { path: `${path}${random.chance(0.4) ? '/_count' : ''}?${search}` };
    });
  });

  function fuzzedBody(): string {
    const chosen = random.some(columns, 1 + random.below(columns.length));
    const row = () => {
      const members = chosen.map(({ name, type }) => `"${name}":${jsonText(type, marked(type), random)}`);
      return `{${members.join(',')}}`;
    };
    const valid = random.pick([row(), random.times(3, row).join('\n')]);
    return random.chance(0.4) ? valid : decodedLoosely(mutated(random, valid));
  }

  test('fuzzed rows, ids and headers are refused or stored: 0 answers are 5xx', async () => {
    // Several apps, so that most requests stay below the limit of batches per minute.
    const paths: string[] = [];
    for (let at = 0; at < serversCount; at++) {
      const app = await newApp(ground.tenant, { owner: ground.owner, coOwner: ground.owner });
      const places = rowPaths(ground.tenant, app);
      const specs = columns.map(({ name, type }) => `${name}:${type}:nullable`);
      await newTable({ ...ground, ...places }, 'fuzzed', specs);
      for (const column of ['of_text', 'of_timestamptz']) {
        const index = { columns: [column], unique: true };
        await ground.owner.call('POST', `${places.tables}/fuzzed/indexes`, index);
      }
      paths.push(`${places.data}/fuzzed`);
    }
    const upserts = ['of_text', 'of_timestamptz', 'of_timestamptz', 'of_int'];
    await fuzz('bodies, ids and headers', bodiesCount, () => {
      const path = random.pick(paths);
      const type = random.pick([
        'application/json',
        'application/json',
        'application/x-ndjson',
        'text/plain',
      ]);
      const headers: Record<string, string> = { 'content-type': type };
      if (random.chance(0.2)) headers['idempotency-key'] = marks.text + random.below(20);
      if (random.chance(0.2))
        headers['if-match'] = random.pick([`"${marks.text}"`, '*', '"1"', marks.int, 'W/"x"']);
      if (random.chance(0.4))
        headers.prefer = random.pick(['return=minimal', 'resolution=merge-duplicates', marks.text]);
      const id = encodeURIComponent(
        decodedLoosely(mutated(random, random.pick([marks.uuid, marks.text, marks.int]))).toWellFormed(),
      );
      const conflict = random.chance(0.3)
        ? `?on_conflict=${random.pick([...upserts, 'id', marks.text])}`
        : '';
      if (conflict)
        headers.prefer = random.pick(['resolution=merge-duplicates', 'resolution=ignore-duplicates']);
      const body = random.chance(0.05)
        ? Buffer.from(random.times(50, () => random.below(256)))
        : fuzzedBody();
      return random.pick<Sent>([
        { method: 'POST', path: `${path}${conflict}`, body, headers },
        { method: 'POST', path: `${path}${conflict}`, body, headers },
        { method: 'PATCH', path: `${path}/${id}`, body, headers },
        { method: 'DELETE', path: `${path}/${id}`, headers },
        { path: `${path}/${id}?${sendable(fuzzedSearch())}` },
      ]);
    });
  });

  test('fuzzed column specs and defaults are refused or made: 0 answers are 5xx', async () => {
    let made = 0;
    await fuzz('column specs', specsCount, () => {
      const columns = random.times(random.pick([1, 1, 1, 3]), () => fuzzedSpec(random));
      const table = {
        name: random.chance(0.9) ? `t_${++made}` : random.pick([marks.text, `_${made}`, 'fuzzed', '']),
        columns,
        ...(random.chance(0.2) ? { owner_column: random.pick([marks.text, 'a', 'id', null]) } : {}),
        ...(random.chance(0.3)
          ? { description: `${marks.text} ${random.pick(['', '\u{1f600}'.repeat(300)])}` }
          : {}),
      };
      const json = { 'content-type': 'application/json' };
      // Most are deleted at once to stay below the app's limits; columns of one table are added and stay.
      return random.chance(0.8)
        ? {
            method: 'POST',
            path: `${ground.tables}?dry_run=true`,
            body: JSON.stringify(table),
            headers: json,
          }
        : {
            method: 'POST',
            path: `${ground.tables}/fuzzed/columns?dry_run=${random.pick(['true', 'true', 'false'])}`,
            body: JSON.stringify(columns[0]),
            headers: json,
          };
    });
    // The defaults of the columns are filled in.
    const row = await ground.owner.call('POST', `${ground.data}/fuzzed`, {});
    expect([201, 400, 409]).toContain(row.status);
  });

  test('no statement that PostgreSQL was sent holds a value of a user: values travel beside it', async () => {
    // The marker of this request follows all earlier entries in the log.
    const database = openServerDatabase(server);
    const end = `the end ${Bun.randomUUIDv7()}`;
    await database.query(`select '${end}'`);
    await database.close();
    const log = join(server.dataDir, 'postgres.log');
    await until('the log is written', async () => {
      const { size } = await stat(log);
      return (
        await Bun.file(log)
          .slice(Math.max(0, size - 100_000), size)
          .text()
      ).includes(end);
    });
    const found = { statements: 0, parameters: 0, marksInParameters: 0 };
    const hits: string[] = [];
    for await (const { kind, text } of entriesOf(log)) {
      if (kind === 'statement') {
        found.statements++;
        if (allMarks.some((mark) => text.includes(mark))) hits.push(text.slice(0, 300));
      } else if (kind === 'parameters') {
        found.parameters++;
        if (allMarks.some((mark) => text.includes(mark))) found.marksInParameters++;
      }
    }
    console.log(
      `rows fuzz: ${found.statements} statements in the log, ${found.marksInParameters} with marked values beside them; in their text: ${hits.length}`,
    );
    expect(hits.slice(0, 5)).toEqual([]);
    // Otherwise nothing was checked.
    expect(found.statements).toBeGreaterThan(stringsCount / 4);
    expect(found.marksInParameters).toBeGreaterThan(stringsCount / 20);
  });

  test('no fault was met on the way', () => {
    const faults = server
      .output()
      .split('\n')
      .filter((line) => line.includes('internal server error'));
    expect(faults.map((line) => JSON.parse(line).err)).toEqual([]);
  });

  interface Entry {
    kind: 'statement' | 'parameters' | 'other';
    text: string;
  }

  /** Entries of PostgreSQL's log; an entry continues on lines that begin with a tab. */
  async function* entriesOf(log: string): AsyncGenerator<Entry> {
    let entry: string[] = [];
    let rest = '';
    const decoder = new TextDecoder();
    for await (const chunk of Bun.file(log).stream()) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        if (!line.startsWith('\t') && entry.length > 0) {
          yield entryOf(entry.join('\n'));
          entry = [];
        }
        entry.push(line);
      }
    }
    if (entry.length > 0) yield entryOf(entry.join('\n'));
  }

  function entryOf(text: string): Entry {
    if (/ LOG: {2}(statement|execute [^:]*|parse [^:]*|bind [^:]*): /.test(text))
      return { kind: 'statement', text };
    if (/ DETAIL: {2}[Pp]arameters: /.test(text)) return { kind: 'parameters', text };
    return { kind: 'other', text };
  }
}
