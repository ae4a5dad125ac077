import { expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { bearer, type Call, caller, done, newApp } from '../support/people.ts';
import { ndjson, newTable, type RowsWorld, rowPaths, rowsWorld, Tally } from '../support/rows.ts';
import { type RunningServer, startEmbedded, startTwo } from '../support/server.ts';
import { repeatConcurrently } from '../support/until.ts';

export function rowsLimit({ batchesAtOnce }: { batchesAtOnce: number }): void {
  const batchesPerMinute = 200;
  const batchBytesMax = 16 * 1024 * 1024;

  interface TwoServers {
    /** The owner at one server and at another, on one database. */
    owners: [Call, Call];
    ground: RowsWorld;
  }

  let started: Promise<TwoServers> | undefined;
  function onTwoServers(): Promise<TwoServers> {
    started ??= startTwo().then(async ([first, second]) => {
      const ground = await rowsWorld(first);
      return { ground, owners: [ground.owner.call, caller(second, bearer(ground.owner))] };
    });
    return started;
  }

  async function newAppWithTable({ ground }: TwoServers): Promise<string> {
    const app = await newApp(ground.tenant, { owner: ground.owner, coOwner: ground.owner });
    const places = rowPaths(ground.tenant, app);
    await newTable({ ...ground, ...places }, 'rows', ['n:int']);
    return `${places.data}/rows`;
  }

  const batch = (call: Call, path: string) => call('POST', path, '{"n":1}\n{"n":2}\n', ndjson);

  test('of one app exactly 200 batches in a minute succeed, however they are spread over two servers', async () => {
    const place = await onTwoServers();
    const { owners } = place;
    const path = await newAppWithTable(place);
    const begun = performance.now();
    const tally = new Tally();
    const waits: number[] = [];
    await repeatConcurrently(batchesPerMinute + 60, 16, async (at) => {
      const { status, headers, body } = await batch(owners[at % 2]!, path);
      tally.add(status === 429 ? body.code : status);
      if (status === 429) waits.push(Number(headers.get('retry-after')));
    });
    const seconds = (performance.now() - begun) / 1000;
    console.log(
      `rows limit: in ${seconds.toFixed(1)} s ${tally}; Retry-After ${Math.min(...waits)} to ${Math.max(...waits)}`,
    );
    expect(seconds).toBeLessThan(60);
    expect(tally.counts).toEqual({ 201: batchesPerMinute, rate_limited: 60 });
    expect(waits.every((wait) => Number.isInteger(wait) && wait >= 1 && wait <= 60)).toBe(true);
    // Refused batches stored nothing, and neither single rows nor reads count.
    expect((await done(owners[1]('GET', `${path}/_count`))).count).toBe(2 * batchesPerMinute);
    expect((await owners[1]('POST', path, { n: 3 })).status).toBe(201);
    expect((await owners[0]('POST', path, '{"n":4}\n{"n":5}\n')).status).toBe(429);
    expect((await batch(owners[1], path)).status).toBe(429);
  });

  test('the 201st is refused, not the 200th, and another app is not affected', async () => {
    const place = await onTwoServers();
    const { owners } = place;
    const [full, other] = [await newAppWithTable(place), await newAppWithTable(place)];
    // Bodies of several lines count, whatever they call themselves; single rows in between do not.
    for (let sent = 0; sent < batchesPerMinute; sent += 10) {
      const statuses = await Promise.all(
        Array.from({ length: 10 }, (_, at) =>
          at === 0 ? owners[at % 2]!('POST', full, '{"n":1}\n{"n":2}\n') : batch(owners[at % 2]!, full),
        ).map(async (answer) => (await answer).status),
      );
      expect(statuses).toEqual(Array(10).fill(201));
      expect((await owners[0]('POST', full, { n: 3 })).status).toBe(201);
    }
    for (const call of owners) expect((await batch(call, full)).status).toBe(429);
    for (const call of owners) expect((await batch(call, other)).status).toBe(201);
  });

  function memoryOf(server: RunningServer): { now: number; most: number } {
    const status = readFileSync(`/proc/${server.pid}/status`, 'utf8');
    const megabytes = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)![1]) / 1024;
    return { now: megabytes('VmRSS'), most: megabytes('VmHWM') };
  }

  test.if(existsSync('/proc/self/status'))(
    `${batchesAtOnce} batches of 16 MiB at once are stored whole, and take less than 200 MB of memory`,
    async () => {
      const server = await startEmbedded();
      const own = await rowsWorld(server);
      await newTable(own, 'rows', [
        'n:int',
        'a:text',
        'b:text:nullable',
        'c:float:nullable',
        'd:jsonb:nullable',
      ]);
      const line = (n: number) =>
        JSON.stringify({
          n,
          a: 'ä'.repeat(600),
          b: `row ${n} `.repeat(70),
          c: n / 7,
          d: { n, list: [1, 2, 3] },
        });
      const lines: string[] = [];
      for (let bytes = 0; lines.length < 10_000; ) {
        const next = line(lines.length);
        bytes += Buffer.byteLength(next) + 1;
        if (bytes > batchBytesMax) break;
        lines.push(next);
      }
      const body = Buffer.from(lines.join('\n'));
      expect(body.length).toBeGreaterThan(batchBytesMax * 0.95);
      const before = memoryOf(server);
      const tally = new Tally();
      await repeatConcurrently(batchesAtOnce, batchesAtOnce, async () => {
        // Requests that wait too long for their turn get 503 and are repeated.
        for (;;) {
          const response = await fetch(`${server.baseUrl}${own.data}/rows`, {
            method: 'POST',
            headers: { ...bearer(own.owner), ...ndjson },
            body,
          });
          const answer = (await response.json()) as { ids?: unknown[] };
          tally.add(response.status);
          if (response.status === 503) continue;
          expect(answer.ids?.length).toBe(lines.length);
          return;
        }
      });
      const after = memoryOf(server);
      console.log(
        `rows limit: ${batchesAtOnce} batches of ${(body.length / 1024 / 1024).toFixed(1)} MiB, ${lines.length} lines each: ${tally}; resident ${before.now.toFixed(0)} MB before, ${after.most.toFixed(0)} MB at most, ${after.now.toFixed(0)} MB after`,
      );
      expect((await done(own.owner.call('GET', `${own.data}/rows/_count`))).count).toBe(
        batchesAtOnce * lines.length,
      );
      expect(tally.except(201, 503)).toEqual([]);
      expect(after.most - before.now).toBeLessThan(200);
    },
    180_000,
  );
}
