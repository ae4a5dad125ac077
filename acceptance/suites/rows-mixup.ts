import { beforeAll, expect, test } from 'bun:test';
import { bearer, done } from '../support/people.ts';
import { newRandom } from '../support/random.ts';
import { insertLines, ndjson, newTable, type RowsWorld, rowsWorld, Tally } from '../support/rows.ts';
import { repeatConcurrently } from '../support/until.ts';

export function rowsMixup({ requestsCount }: { requestsCount: number }): void {
  /**
   * Statements of many callers travel on few connections, one behind another. Each request here carries something that
   * no other has, and its answer must contain exactly that.
   */
  const atOnce = 64;
  const rowsCount = 2_000;
  const largeRows = 12;
  const largeChars = 500_000;
  const random = newRandom();

  /** `c0` … `c11`: too many for a prepared statement of every selection on one connection. */
  const columns = Array.from({ length: 12 }, (_, at) => `c${at}`);
  const cell = (column: string, n: number) => `${column} of ${n}`;
  const largeText = (n: number) => `large ${n} `.repeat(largeChars).slice(0, largeChars);

  let ground: RowsWorld;
  let made = 0;

  beforeAll(async () => {
    ground = await rowsWorld();
    await newTable(ground, 'wide', ['id:bigint', 'tag:text', ...columns.map((name) => `${name}:text`)]);
    await done(
      ground.owner.call('POST', `${ground.tables}/wide/indexes`, { columns: ['tag'], unique: true }),
    );
    await newTable(ground, 'large', ['id:int', 'body:text']);
    await newTable(ground, 'moving', ['id:int', 'stays:text']);
    await newTable(ground, 'written', ['nonce:text', 'n:bigint:nullable']);
    const all = Array.from({ length: rowsCount }, (_, n) => n);
    const wide = all.map((n) => ({
      id: n,
      tag: `tag ${n}`,
      ...Object.fromEntries(columns.map((name) => [name, cell(name, n)])),
    }));
    await insertLines(ground.owner, `${ground.data}/wide`, wide);
    await insertLines(
      ground.owner,
      `${ground.data}/moving`,
      all.slice(0, 200).map((id) => ({ id, stays: `stays ${id}` })),
    );
    for (let id = 0; id < largeRows; id++) {
      await done(ground.owner.call('POST', `${ground.data}/large`, { id, body: largeText(id) }));
    }
  });

  const call = (method: string, path: string, body?: string, headers: Record<string, string> = {}) =>
    fetch(`${ground.server.baseUrl}${ground.data}${path}`, {
      method,
      headers: {
        ...bearer(ground.owner),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body }),
    });

  /** Resolves with the difference, or null. */
  type Ask = () => Promise<string | null>;

  type Row = Record<string, unknown>;

  /** Whether each returned column belongs to the row of that number. */
  function isRow(row: Row, n: number): boolean {
    return Object.entries(row).every(([key, value]) => {
      const name = key.replace(/^z\d+_/, '');
      if (name === 'id') return value === n;
      if (name.endsWith('_at')) return typeof value === 'string';
      return value === (name === 'tag' ? `tag ${n}` : cell(name, n));
    });
  }

  async function problem(response: Response, wanted: string): Promise<string> {
    return `${response.status} instead of ${wanted}: ${(await response.text()).slice(0, 200)}`;
  }

  const asks: Record<string, { weight: number; ask: Ask }> = {
    'one row': {
      weight: 30,
      ask: async () => {
        const n = random.below(rowsCount);
        const shown = random.some(['tag', ...columns], 1 + random.below(4));
        const query = random.chance(0.5) ? '' : `?select=id,${shown.join(',')}`;
        const response = await call('GET', `/wide/${n}${query}`);
        if (response.status !== 200) return problem(response, '200');
        const row = (await response.json()) as Row;
        return row.id === n && isRow(row, n) ? null : `row ${n}: ${JSON.stringify(row)}`;
      },
    },
    'a list in one of thousands of shapes': {
      weight: 30,
      ask: async () => {
        const [from, count] = [random.below(rowsCount - 20), 1 + random.below(20)];
        const nonce = `z${++made}`;
        const shown = random.some(['tag', ...columns], 1 + random.below(5));
        const select = ['id', ...shown.map((name) => `${nonce}_${name}:${name}`)].join(',');
        const sort = random.pick(['id', '-id']);
        const query = `id=between.(${from},${from + count - 1})&select=${select}&sort=${sort}&per_page=200`;
        const response = await call('GET', `/wide?${query}`);
        if (response.status !== 200) return problem(response, '200');
        const { data } = (await response.json()) as { data: Row[] };
        const rows = sort === 'id' ? data : data.reverse();
        const isRight =
          rows.length === count &&
          rows.every((row, at) => isRow(row, from + at) && shown.every((name) => `${nonce}_${name}` in row));
        return isRight ? null : `${query}: ${JSON.stringify(data).slice(0, 300)}`;
      },
    },
    'a count': {
      weight: 10,
      ask: async () => {
        const [from, count] = [random.below(1000), random.below(900)];
        const name = random.pick(columns);
        const response = await call(
          'GET',
          `/wide/_count?id=gte.${from}&id=lt.${from + count}&${name}=is.not_null`,
        );
        const body = (await response.json()) as Row;
        return body.count === count ? null : `${count} counted as ${JSON.stringify(body)}`;
      },
    },
    'a new row, changed, read and deleted': {
      weight: 8,
      ask: async () => {
        const nonce = `n${++made} ${'x'.repeat(random.below(200))}`;
        const key: Record<string, string> = random.chance(0.2) ? { 'idempotency-key': nonce } : {};
        const response = await call('POST', '/written', JSON.stringify({ nonce, n: made }), key);
        if (response.status !== 201) return problem(response, '201');
        const row = (await response.json()) as Row;
        if (row.nonce !== nonce) return `${nonce} came back as ${row.nonce}`;
        const changed = await call('PATCH', `/written/${row.id}`, JSON.stringify({ n: -made }));
        const after = (await changed.json()) as Row;
        if (after.nonce !== nonce || after.id !== row.id)
          return `${nonce} changed is ${JSON.stringify(after)}`;
        if (random.chance(0.5)) return null;
        const gone = await call('DELETE', `/written/${row.id}`);
        const again = await call('GET', `/written/${row.id}`);
        return gone.status === 204 && again.status === 404
          ? null
          : `deleted: ${gone.status}, ${again.status}`;
      },
    },
    'what the database refuses': {
      weight: 6,
      ask: async () => {
        const n = random.below(rowsCount);
        const row = { id: rowsCount + ++made, tag: `tag ${n}` };
        const filled = { ...row, ...Object.fromEntries(columns.map((name) => [name, ''])) };
        const response = await call('POST', '/wide', JSON.stringify(filled));
        const body = (await response.json()) as { code: string; errors: Row[] };
        return body.code === 'unique_violation' && body.errors[0]?.column === 'tag'
          ? null
          : `tag ${n} a second time: ${response.status} ${JSON.stringify(body)}`;
      },
    },
    'what is refused before the database': {
      weight: 5,
      ask: async () => {
        const nonce = `q${++made}`;
        const response = await call('GET', `/wide?${nonce}=eq.1`);
        const text = await response.text();
        return response.status === 400 && text.includes(nonce)
          ? null
          : `${nonce}: ${response.status} ${text}`;
      },
    },
    'a slow list': {
      weight: 1,
      ask: async () => {
        const n = random.below(rowsCount);
        const tests = columns.flatMap((name) => [`${name}.ihas.OF`, `${name}.ilike.*${n}`]);
        const response = await call(
          'GET',
          `/wide?id=eq.${n}&and=(${tests.join(',')})&or=(${tests.join(',')})`,
        );
        const { data } = (await response.json()) as { data: Row[] };
        return data.length === 1 && data[0]?.tag === `tag ${n}` ? null : `slow ${n}: ${JSON.stringify(data)}`;
      },
    },
    'large rows': {
      weight: 1,
      ask: async () => {
        const n = random.below(largeRows - 2);
        const response = await call('GET', `/large?id=gte.${n}&per_page=2`);
        const { data } = (await response.json()) as { data: Row[] };
        const isRight = data.length === 2 && data.every((row, at) => row.body === largeText(n + at));
        return isRight ? null : `large ${n}: ${data.map((row) => String(row.body).slice(0, 40))}`;
      },
    },
    'an answer that the client does not wait for': {
      weight: 2,
      ask: async () => {
        const leaving = new AbortController();
        const path = `${ground.server.baseUrl}${ground.data}/large?per_page=${4 + random.below(8)}`;
        const stream = random.chance(0.3) ? { accept: 'application/x-ndjson' } : undefined;
        const asked = fetch(stream ? path.replace(/\?.*/, '') : path, {
          headers: { ...bearer(ground.owner), ...stream },
          signal: leaving.signal,
        });
        try {
          if (random.chance(0.5)) {
            const reader = (await asked).body!.getReader();
            await reader.read();
          } else await Promise.race([asked, call('GET', '/wide/1')]);
        } finally {
          leaving.abort();
        }
        await asked.then(
          (response) => response.body?.cancel().catch(() => {}),
          () => {},
        );
        return null;
      },
    },
    'a table that changes its shape': {
      weight: 6,
      ask: async () => {
        const n = random.below(200);
        const nonce = `z${++made}`;
        const query = `id=eq.${n}&select=${nonce}_id:id,stays${random.chance(0.7) ? ',moves' : ''}`;
        const response = await call('GET', `/moving?${query}`);
        if (response.status === 503) return null;
        const body = (await response.json()) as { data: Row[]; code?: string };
        if (response.status === 400 && body.code === 'unknown_column' && query.includes('moves')) return null;
        const row = body.data?.[0] ?? {};
        const isRight =
          row[`${nonce}_id`] === n &&
          row.stays === `stays ${n}` &&
          (!('moves' in row) || row.moves === 42 || row.moves === 'fourty-two');
        return isRight ? null : `${query}: ${response.status} ${JSON.stringify(body).slice(0, 300)}`;
      },
    },
    'a stream': {
      weight: 0.4,
      ask: async () => {
        const from = random.below(rowsCount);
        const shown = random.some(columns, 2).join(',');
        const response = await call('GET', `/wide?id=gte.${from}&select=id,${shown}`, undefined, {
          accept: 'application/x-ndjson',
        });
        if (response.status === 503) return null;
        const lines = (await response.text()).trimEnd().split('\n');
        const isRight =
          lines.length === rowsCount - from && lines.every((line, at) => isRow(JSON.parse(line), from + at));
        return isRight ? null : `the stream from ${from}: ${lines.length} lines, ${lines[0]}`;
      },
    },
  };

  const weights = Object.entries(asks).flatMap(([kind, { weight }]) =>
    Array(Math.ceil(weight * 10)).fill(kind),
  );

  /** Adds and drops a column, of one type and of another in turn, until stopped. */
  async function changeShape(isOver: () => boolean): Promise<number> {
    const place = `${ground.tables}/moving/columns`;
    let changes = 0;
    for (let at = 0; !isOver(); at++) {
      const column = at % 2 === 0 ? 'moves:text:nullable:fourty-two' : 'moves:int:nullable:42';
      const added = await ground.owner.call('POST', place, JSON.stringify(column));
      if (added.status !== 201 && added.body.code !== 'table_busy')
        throw new Error(JSON.stringify(added.body));
      if (added.status !== 201) continue;
      let dropped = 0;
      while (dropped !== 204) dropped = (await ground.owner.call('DELETE', `${place}/moves`)).status;
      changes++;
    }
    return changes;
  }

  async function sendBatches(isOver: () => boolean): Promise<number> {
    let sent = 0;
    for (; sent < 60 && !isOver(); sent++) {
      const nonce = `batch ${++made}`;
      const body = Array.from({ length: 50 }, (_, n) => JSON.stringify({ nonce, n })).join('\n');
      const response = await call('POST', '/written', body, ndjson);
      if (response.status !== 201) throw new Error(await response.text());
      const { ids } = (await response.json()) as { ids: string[] };
      const found = await call('GET', `/written?nonce=${encodeURIComponent(nonce)}&sort=n&per_page=200`);
      const { data } = (await found.json()) as { data: Row[] };
      expect(data.map((row) => [row.id, row.n, row.nonce])).toEqual(ids.map((id, n) => [id, n, nonce]));
    }
    return sent;
  }

  test(`each of thousands of requests, ${atOnce} at a time and differently shaped, gets its own answer`, async () => {
    const kinds = new Tally();
    const wrong: string[] = [];
    let over = false;
    const beside = Promise.all([changeShape(() => over), sendBatches(() => over)]);
    await repeatConcurrently(requestsCount, atOnce, async () => {
      if (wrong.length >= 5) return;
      const kind: string = random.pick(weights);
      kinds.add(kind);
      const fault = await asks[kind]!.ask();
      if (fault !== null) wrong.push(`${kind}: ${fault}`);
    });
    over = true;
    const [changes, batches] = await beside;
    console.log(
      `rows mix-up: seed ${random.seed}; ${requestsCount} requests, ${changes} changes of shape and ${batches} batches beside; mix-ups: ${wrong.length}\n  ${kinds}`,
    );
    expect(wrong).toEqual([]);
  });

  test('after all that nothing is held: every connection serves, and nothing was a fault of the server', async () => {
    const counts = await Promise.all(
      Array.from({ length: 40 }, async () => {
        const response = await call('GET', '/wide/_count');
        return ((await response.json()) as { count: number }).count;
      }),
    );
    expect(new Set(counts)).toEqual(new Set([rowsCount]));
    const streams = await Promise.all(
      Array.from({ length: 4 }, async () => {
        const response = await call('GET', '/wide?select=id', undefined, { accept: 'application/x-ndjson' });
        return (await response.text()).split('\n').length - 1;
      }),
    );
    expect(streams).toEqual([rowsCount, rowsCount, rowsCount, rowsCount]);
    expect(
      ground.server
        .output()
        .split('\n')
        .filter((line) => line.includes('internal server error')),
    ).toEqual([]);
  });
}
