import { beforeAll, beforeEach, expect, test } from 'bun:test';
import { patientMs } from '../../scripts/patience.ts';
import { type Answered, bearer, type Call, caller, done, newApp } from '../support/people.ts';
import { newRandom } from '../support/random.ts';
import {
  insertLines,
  ndjson,
  newTable,
  type RowsWorld,
  rowPaths,
  rowsWorld,
  Tally,
} from '../support/rows.ts';
import { type RunningServer, startTwo } from '../support/server.ts';
import { rawStream } from '../support/sockets.ts';

import { until } from '../support/until.ts';

export function rowsDdl({ roundsCount }: { roundsCount: number }): void {
  const rowsCount = 100;
  /** The longest time that a read may wait for a change of the table's schema. */
  const waitMsMax = patientMs(1_500);
  const random = newRandom();
  console.log(`rows ddl: seed ${random.seed}`);

  let first: RunningServer;
  /** Another server on the same database: it learns of a change only through the database. */
  let second: RunningServer;
  let ground: RowsWorld;
  /** The owner at the first and at the second server. */
  let owners: [Call, Call];

  beforeAll(async () => {
    [first, second] = await startTwo();
    ground = await rowsWorld(first);
    owners = [ground.owner.call, caller(second, bearer(ground.owner))];
  });

  // Each test has its own app, so that none uses up the batches of another.
  beforeEach(async () => {
    const app = await newApp(ground.tenant, { owner: ground.owner, coOwner: ground.owner });
    ground = { ...ground, app, ...rowPaths(ground.tenant, app) };
    batchesLeft = 60;
  });

  /** Batches that the clients may still send without exceeding the limit per minute. */
  let batchesLeft = 0;

  const numbers = Array.from({ length: rowsCount }, (_, n) => n);

  /** Results of the clients: every status, and all wrong answers. */
  function newFindings() {
    const statuses = new Tally();
    const wrong: string[] = [];
    let slowest = 0;
    return {
      statuses,
      wrong,
      slowest: () => slowest,
      /** A call whose answer is checked; `codes` lists the errors that are allowed beside success. */
      async ask(
        asked: () => Promise<Answered>,
        isRight: (body: Answered['body']) => boolean,
        ...codes: string[]
      ): Promise<Answered | null> {
        const begun = performance.now();
        const answer = await asked();
        slowest = Math.max(slowest, performance.now() - begun);
        const { status, body } = answer;
        statuses.add(status < 300 ? status : `${status} ${body.code}`);
        if (status < 300 ? isRight(body) : [...codes, 'unavailable'].includes(body.code)) return answer;
        wrong.push(`${status} ${JSON.stringify(body).slice(0, 300)}`);
        return null;
      },
    };
  }

  interface TableOfTest {
    /** Reads and writes, whatever the table's current schema. */
    client: (call: Call, findings: ReturnType<typeof newFindings>) => Promise<unknown>;
    /** Changes the schema and back; null if the table was busy too long. */
    change: (call: Call) => Promise<unknown>;
  }

  const path = (table: string) => `${ground.data}/${table}`;
  const schemaPath = (table: string) => `${ground.tables}/${table}`;

  /** Repeats a schema change that finds the table busy. */
  async function repeatChange(change: () => Promise<Answered>): Promise<void> {
    await until(
      'the change is made',
      async () => {
        const { status, body } = await change();
        if (status >= 300 && !['table_busy', 'unavailable'].includes(body.code)) {
          throw new Error(`It answered ${status}: ${JSON.stringify(body)}`);
        }
        return status < 300;
      },
      30_000,
    );
  }

  async function underLoad(name: string, { client, change }: TableOfTest): Promise<void> {
    const findings = newFindings();
    let over = false;
    const clients = Array.from({ length: 12 }, async (_, at) => {
      while (!over && findings.wrong.length < 5) await client(owners[at % 2]!, findings);
    });
    let changes = 0;
    try {
      for (; changes < roundsCount; changes++) await change(owners[changes % 2]!);
    } finally {
      over = true;
      await Promise.all(clients);
    }
    const faults = [first, second].flatMap((server) =>
      server
        .output()
        .split('\n')
        .filter((line) => line.includes('internal server error'))
        .map((line) => JSON.parse(line).err.message),
    );
    console.log(
      `rows ddl: ${name}: ${changes} rounds; slowest answer ${Math.round(findings.slowest())} ms; wrong: ${findings.wrong.length}; ${findings.statuses}`,
    );
    expect({ wrong: findings.wrong, faults }).toEqual({ wrong: [], faults: [] });
    expect(findings.statuses.count(200)).toBeGreaterThan(0);
  }

  test('while a column is added, renamed and dropped under load, every returned row is right', async () => {
    await newTable(ground, 'a_column', ['n:int', 'stays:text', 'before:text']);
    const row = (n: number) => ({ n, stays: `stays ${n}`, before: `renamed ${n}` });
    await insertLines(ground.owner, path('a_column'), numbers.map(row));
    const isRight = (shown: Record<string, unknown>): boolean => {
      const { n, stays, before = `renamed ${n}`, after = `renamed ${n}`, extra = null } = shown;
      if (![null, 'filled in', 'given'].includes(extra as string)) return false;
      return stays === `stays ${n}` && before === `renamed ${n}` && after === `renamed ${n}`;
    };
    let inserted = rowsCount;
    const kept: number[] = [];
    await underLoad('columns', {
      client: async (call, { ask }) => {
        const n = random.below(rowsCount);
        const named = random.pick(['before', 'after']);
        const select = random.pick([
          '',
          `&select=n,stays,${named}`,
          '&select=stays,n,extra',
          '&select=n,stays',
        ]);
        const all = ({ data }: { data: Record<string, unknown>[] }) => data.every(isRight);
        const query = random.pick([
          `n=${n}`,
          `${named}=renamed ${n}&n=${n}`,
          `n=between.(${n},${n + 9})&sort=${named}`,
        ]);
        await ask(() => call('GET', `${path('a_column')}?${query}${select}`), all, 'unknown_column');
        if (random.chance(0.3)) {
          const number = inserted++;
          const given = { n: number, stays: `stays ${number}`, [named]: `renamed ${number}` };
          const more = random.chance(0.3) ? { extra: 'given' } : {};
          const body = { ...given, ...more };
          const isBatch = random.chance(0.3) && batchesLeft-- > 0;
          const answer = await ask(
            () =>
              isBatch
                ? call('POST', path('a_column'), `${JSON.stringify(body)}\n`, ndjson)
                : call('POST', path('a_column'), body),
            (shown) => isBatch || isRight(shown),
            'unknown_column',
            'validation_failed',
            'rate_limited',
          );
          if (answer?.status === 201) kept.push(number);
        }
      },
      change: async (call) => {
        const columns = `${schemaPath('a_column')}/columns`;
        await repeatChange(() => call('POST', columns, JSON.stringify('extra:text:nullable:filled in')));
        await repeatChange(() => call('PATCH', `${columns}/before`, { name: 'after' }));
        await repeatChange(() => call('DELETE', `${columns}/extra`));
        await repeatChange(() => call('PATCH', `${columns}/after`, { name: 'before' }));
      },
    });
    const { count } = await done(owners[1]('GET', `${path('a_column')}/_count?n=gte.${rowsCount}`));
    const shown = await fetch(
      `${second.baseUrl}${path('a_column')}?n=gte.${rowsCount}&select=n,stays,before`,
      {
        headers: { ...bearer(ground.owner), accept: 'application/x-ndjson' },
      },
    );
    const rows = (await shown.text())
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line));
    expect(rows.length).toBe(count);
    expect(rows.filter((each) => !isRight(each))).toEqual([]);
    const stored = rows.map((each) => each.n);
    expect(kept.filter((n) => !stored.includes(n))).toEqual([]);
  });

  test('while a column is dropped and created with another type under load, no value is read as the wrong type', async () => {
    await newTable(ground, 'a_type', ['n:int', 'typed:int']);
    await insertLines(
      ground.owner,
      path('a_type'),
      numbers.map((n) => ({ n, typed: 42 })),
    );
    await underLoad('types', {
      client: async (call, { ask }) => {
        const n = random.below(rowsCount);
        const isText = random.chance(0.5);
        // The text sorts after both numbers when they are compared as texts.
        const query = isText ? 'typed=sw.fourty' : 'typed=between.(41,43)';
        const isRight = ({ data }: { data: { typed: unknown }[] }) =>
          data.every(({ typed }) => typed === (isText ? 'fourty-two' : 42));
        // While the column has the other type or does not exist, the query is invalid.
        await ask(
          () => call('GET', `${path('a_type')}?n=${n}&${query}&select=n,typed`),
          isRight,
          'unknown_column',
          'validation_failed',
        );
        await ask(
          () => call('GET', `${path('a_type')}?n=${n}`),
          ({ data }) => data.length === 1 && [42, 'fourty-two', undefined].includes(data[0].typed),
        );
      },
      change: async (call) => {
        const columns = `${schemaPath('a_type')}/columns`;
        await repeatChange(() => call('DELETE', `${columns}/typed`));
        await repeatChange(() => call('POST', columns, JSON.stringify('typed:text:fourty-two')));
        await repeatChange(() => call('DELETE', `${columns}/typed`));
        await repeatChange(() => call('POST', columns, JSON.stringify('typed:int:42')));
      },
    });
  });

  test('while a table is dropped and created again under load, each response has rows of one table only', async () => {
    const shapes = [
      { columns: ['id:int', 'v:int'], row: (n: number) => ({ id: n, v: n * 7 }) },
      { columns: ['id:int', 'v:text', 'w:jsonb'], row: (n: number) => ({ id: n, v: `v of ${n}`, w: { n } }) },
    ] as const;
    const make = async (call: Call, { columns, row }: (typeof shapes)[number]) => {
      await repeatChange(() => call('POST', ground.tables, { name: 'again', columns }));
      await done(call('POST', path('again'), numbers.map((n) => JSON.stringify(row(n))).join('\n'), ndjson));
    };
    await make(owners[0], shapes[0]);
    const isRight = (row: Record<string, unknown>) =>
      'w' in row || typeof row.v === 'string'
        ? row.v === `v of ${row.id}` && (!('w' in row) || (row.w as { n: number }).n === row.id)
        : row.v === Number(row.id) * 7;
    await underLoad('tables made again', {
      client: async (call, { ask }) => {
        const n = random.below(rowsCount);
        const select = random.pick(['', '&select=v,id', '&select=id,v,w']);
        await ask(
          () => call('GET', `${path('again')}?id=gte.${n}&per_page=200${select}`),
          ({ data }) => [0, rowsCount - n].includes(data.length) && data.every(isRight),
          'unknown_column',
          'not_found',
        );
        await ask(() => call('GET', `${path('again')}/${n}`), isRight, 'not_found');
        const given = { id: rowsCount + random.below(1_000_000), v: random.pick([7, 'v']) };
        // Refused if the type does not match; otherwise the row is deleted at once.
        const sent =
          random.chance(0.2) && batchesLeft-- > 0
            ? () => call('POST', `${path('again')}?dry_run=true`, `${JSON.stringify(given)}\n`, ndjson)
            : () => call('POST', `${path('again')}?dry_run=true`, given);
        await ask(sent, () => true, 'validation_failed', 'not_found', 'rate_limited', 'unique_violation');
      },
      change: async (call) => {
        for (const shape of [shapes[1], shapes[0]]) {
          await repeatChange(() => call('DELETE', schemaPath('again')));
          await make(call, shape);
        }
      },
    });
  });

  test('while a table is renamed under load, each name is the table or not found', async () => {
    await newTable(ground, 'named', ['n:int']);
    await newTable(ground, 'other', ['n:int']);
    await insertLines(
      ground.owner,
      path('named'),
      numbers.map((n) => ({ n })),
    );
    await insertLines(
      ground.owner,
      path('other'),
      numbers.map((n) => ({ n: -n })),
    );
    await underLoad('tables renamed', {
      client: async (call, { ask }) => {
        const name = random.pick(['named', 'other', 'third']);
        const n = 1 + random.below(rowsCount - 1);
        // Names rotate: each table gets each name, and the numbers of one are the other's, negated.
        await ask(
          () => call('GET', `${path(name)}?or=(n.eq.${n},n.eq.-${n})`),
          ({ data }) => data.length === 1 && Math.abs(data[0].n) === n,
          'not_found',
        );
        await ask(
          () => call('GET', `${path(name)}/_count`),
          ({ count }) => count === rowsCount,
          'not_found',
        );
      },
      change: async (call) => {
        const rename = (from: string, name: string) =>
          repeatChange(() => call('PATCH', schemaPath(from), { name }));
        await rename('named', 'third');
        await rename('other', 'named');
        await rename('third', 'other');
      },
    });
  });

  test('a schema change behind a long read succeeds or times out, and no other read waits long', async () => {
    await newTable(ground, 'long', ['n:int', 'body:text']);
    const body = 'x'.repeat(10_000);
    for (let part = 0; part < 4; part++) {
      await insertLines(
        ground.owner,
        path('long'),
        Array.from({ length: 1_000 }, (_, n) => ({ n: part * 1_000 + n, body })),
      );
    }
    const stream = rawStream(first, path('long'), bearer(ground.owner));
    await until('the stream has begun', async () => stream.bytes() > 100_000);
    stream.pause();
    const findings = newFindings();
    let over = false;
    const readers = Array.from({ length: 6 }, async (_, at) => {
      while (!over) {
        const n = random.below(4_000);
        await findings.ask(
          () => owners[at % 2]!('GET', `${path('long')}?n=${n}&select=n`),
          ({ data }) => data[0]?.n === n,
        );
      }
    });
    const answers = await Promise.all([
      owners[0]('POST', `${schemaPath('long')}/columns`, JSON.stringify('late:int:nullable')),
      owners[1]('DELETE', `${schemaPath('long')}/columns/body`),
    ]);
    const codes = answers.map(({ status, body: { code } }) => code ?? status);
    over = true;
    await Promise.all(readers);
    console.log(
      `rows ddl: behind a long reader: ${codes.join(' and ')}; slowest reader ${Math.round(findings.slowest())} ms; ${findings.statuses}`,
    );
    expect(codes.filter((code) => !['table_busy', 201, 204].includes(code))).toEqual([]);
    expect(findings.wrong).toEqual([]);
    expect(findings.slowest()).toBeLessThan(waitMsMax);
    stream.leave();
    await stream.ended;
    await repeatChange(() =>
      owners[1]('POST', `${schemaPath('long')}/columns`, JSON.stringify('later:int:nullable')),
    );
  });
}
