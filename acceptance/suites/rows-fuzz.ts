import { beforeAll, expect, test } from 'bun:test';
import { newApp } from '../support/people.ts';
import { newRandom } from '../support/random.ts';
import { columnTypes, insertLines, newTable, type RowsWorld, rowPaths, rowsWorld } from '../support/rows.ts';
import { checkLogs, escapeSearch, fuzz, type Sent, startLogged } from './fuzz-server.ts';
import {
  decodeOrKeep,
  marks,
  mutateText,
  randomBytes,
  randomColumnSpec,
  valueWithMarker,
} from './hostile-rows.ts';
import { makeQuery } from './random-queries.ts';
import { jsonText } from './random-values.ts';
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

  let ground: RowsWorld;
  /** All of them contain a marker. */
  const rows: ModelRow[] = [];
  const columns: ModelColumn[] = columnTypes.map((type) => ({
    name: `of_${type.replace('[]', 's').replace(/\W.*/, '')}`,
    type,
    nullable: true,
  }));

  beforeAll(async () => {
    ground = await rowsWorld(await startLogged());
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
    for (let at = 0; at < 60; at++)
      rows.push(new Map(columns.map(({ name, type }) => [name, valueWithMarker(random, type)])));
    const lines = rows.map((row, at) => {
      const members = columns.map(
        ({ name, type }) => `"${name}":${jsonText(type, row.get(name) ?? null, random)}`,
      );
      return `{${members.join(',')}}`.replace(`"of_text":"`, `"of_text":"${at} `);
    });
    await insertLines(ground.owner, `${ground.data}/fuzzed`, lines);
    console.log(`rows fuzz: seed ${random.seed}`);
  });

  let cursor = '';

  function fuzzedSearch(): string {
    const { parameters } = makeQuery(random, columns, rows);
    const valid = [...parameters, ...(cursor && random.chance(0.1) ? [`cursor=${cursor}`] : [])].join('&');
    return random.pick([
      valid,
      valid,
      valid,
      ...Array.from({ length: 6 }, () => mutateText(random, valid)),
      randomBytes(random),
      `${random.pick(columns).name}=${randomBytes(random)}`,
    ]);
  }

  test('fuzzed query strings are refused or answered: 0 answers are 5xx', async () => {
    const path = `${ground.data}/fuzzed`;
    const { body } = await ground.owner.call('GET', `${path}?per_page=1&sort=-of_text`);
    cursor = body.next_cursor;
    await fuzz(ground, 'query strings', stringsCount, () => {
      const search = escapeSearch(fuzzedSearch());
      return { path: `${path}${random.chance(0.4) ? '/_count' : ''}?${search}` };
    });
  });

  function fuzzedBody(): string {
    const chosen = random.some(columns, 1 + random.below(columns.length));
    const row = () => {
      const members = chosen.map(
        ({ name, type }) => `"${name}":${jsonText(type, valueWithMarker(random, type), random)}`,
      );
      return `{${members.join(',')}}`;
    };
    const valid = random.pick([row(), random.times(3, row).join('\n')]);
    return random.chance(0.4) ? valid : decodeOrKeep(mutateText(random, valid));
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
    await fuzz(ground, 'bodies, ids and headers', bodiesCount, () => {
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
        decodeOrKeep(mutateText(random, random.pick([marks.uuid, marks.text, marks.int]))).toWellFormed(),
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
        { path: `${path}/${id}?${escapeSearch(fuzzedSearch())}` },
      ]);
    });
  });

  test('fuzzed column specs and defaults are refused or made: 0 answers are 5xx', async () => {
    let made = 0;
    await fuzz(ground, 'column specs', specsCount, () => {
      const columns = random.times(random.pick([1, 1, 1, 3]), () => randomColumnSpec(random));
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

  checkLogs(() => ground.server, { statements: stringsCount / 4, marked: stringsCount / 20 });
}
