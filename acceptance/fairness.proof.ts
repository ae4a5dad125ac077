import { expect, test } from 'bun:test';
import { mapConcurrently } from '@svc/contract/concurrency.ts';
import type { LoadOrder, LoadReport } from './support/load-worker.ts';
import type { Person } from './support/people.ts';
import { insertLines, newTable, rowsWorld, Tally } from './support/rows.ts';
import { type RunningServer, startEmbedded } from './support/server.ts';
import { keepAsking } from './support/until.ts';

const tenantsCount = 5;
const greed = 10;
/** Of its share, answered: a round in which a busy machine does not let it be greedy does not count. */
const greedMin = 8;
const countedMin = 3;
/** All shares together, as a part of what the machine can do now. */
const usedPart = 0.2;
/** Windows without and with the greedy tenant alternate: what else the machine does meets both alike. */
const windowMs = 500;
/** In which the requests of the window before may still be answered. */
const settleMs = 50;
/** As many as it takes for so many requests: the p99 of a few is the slowest of them. */
const windowsPerRound = { min: 8, max: 30 };
const requestsPerRound = 1_000;
const rounds = 9;
const raisedMax = 1.25;

interface LoadedTenant {
  owner: Person;
  paths: string[];
}

test('a tenant at ten times its share raises the p99 of the others by less than a quarter', async () => {
  const server = await startEmbedded();
  const [greedy, ...others] = await mapConcurrently([...Array(tenantsCount).keys()], 4, () =>
    newLoadedTenant(server),
  );
  const load = startLoad(greedy!, server.baseUrl);
  const statuses = new Tally();
  const ratios: number[] = [];
  try {
    const share = (usedPart * (await capacity(others))) / tenantsCount;
    const requestsPerWindow = (share * others.length * windowMs) / 1000;
    const windows = Math.min(
      windowsPerRound.max,
      Math.max(windowsPerRound.min, Math.ceil(requestsPerRound / requestsPerWindow)),
    );
    for (let round = 0; round < rounds; round++) {
      const times = { calm: [] as number[], busy: [] as number[] };
      let sent = 0;
      for (let window = 0; window < windows; window++)
        // Each comes first as often as the other.
        for (const kind of window % 2 === 0 ? (['calm', 'busy'] as const) : (['busy', 'calm'] as const)) {
          await load.send(kind === 'busy' ? share * greed : share);
          times[kind].push(...(await measure(others, share, statuses)));
          const answered = (await load.send(0)).statuses['200'] ?? 0;
          if (kind === 'busy') sent += answered;
        }
      const [calm, busy] = [p99(times.calm), p99(times.busy)];
      const perSecond = (sent * 1000) / (windows * (settleMs + windowMs));
      console.log(
        `fairness: ${Math.round(share)} requests/s each, ${times.calm.length} in all: p99 ${calm.toFixed(2)} ms; beside one with ${Math.round(perSecond)} answers/s: ${busy.toFixed(2)} ms`,
      );
      if (perSecond >= greedMin * share) ratios.push(busy / calm);
    }
  } finally {
    load.end();
  }
  const sorted = ratios.toSorted((a, b) => a - b);
  const median = sorted[sorted.length >> 1] ?? Number.NaN;
  console.log(
    `fairness: ratio of p99 in ${sorted.length} of ${rounds} rounds, with ${greedMin} times its share or more: median ${median.toFixed(2)} of ${sorted.map((ratio) => ratio.toFixed(2)).join(', ')}`,
  );
  expect(statuses.except(200)).toEqual([]);
  expect(ratios.length).toBeGreaterThanOrEqual(countedMin);
  expect(median).toBeLessThan(raisedMax);
  expect(await server.stop()).toBe(0);
});

/** A tenant, with the paths of single rows and of pages of its table. */
async function newLoadedTenant(server: RunningServer): Promise<LoadedTenant> {
  const world = await rowsWorld(server);
  await newTable(world, 'orders', ['n:int', 'name:text']);
  const path = `${world.data}/orders`;
  const rows = Array.from({ length: 500 }, (_, n) => ({ n, name: `order ${n}` }));
  const ids = await insertLines(world.owner, path, rows);
  const single = ids.slice(0, 20).map((id) => `${path}/${id}`);
  const paths = single.flatMap((row, at) =>
    at % 5 === 0 ? [row, `${path}?per_page=20&page=${at + 1}`] : [row],
  );
  return { owner: world.owner, paths };
}

function startLoad({ owner, paths }: LoadedTenant, baseUrl: string) {
  const worker = new Worker(new URL('./support/load-worker.ts', import.meta.url).href);
  return {
    /** Changes the rate and returns what was answered before. */
    send(perSecond: number): Promise<LoadReport> {
      const order: LoadOrder = { baseUrl, token: owner.token, paths, perSecond, clients: 8 };
      return new Promise((resolve) => {
        worker.onmessage = ({ data }: MessageEvent<LoadReport>) => resolve(data);
        worker.postMessage(order);
      });
    },
    end: () => worker.terminate(),
  };
}

/** Requests in a second that a few clients get answers to. */
async function capacity(tenants: readonly LoadedTenant[]): Promise<number> {
  let answers = 0;
  const begun = performance.now();
  const asking = keepAsking(
    async () => {
      const { owner, paths } = tenants[answers % tenants.length]!;
      await owner.call('GET', paths[answers % paths.length]);
      answers++;
    },
    { clients: 8, pauseMs: 0 },
  );
  await Bun.sleep(2_000); // The length of the measurement.
  await asking.stop();
  return (answers * 1000) / (performance.now() - begun);
}

/** Times of the requests that each tenant sends at its rate, whether or not earlier ones are answered. */
async function measure(tenants: readonly LoadedTenant[], share: number, statuses: Tally): Promise<number[]> {
  const times: number[] = [];
  const begun = performance.now();
  const asked: Promise<void>[] = [];
  const ask = async ({ owner, paths }: LoadedTenant, at: number) => {
    const sentAt = performance.now();
    const { status } = await owner.call('GET', paths[at % paths.length]);
    if (sentAt - begun >= settleMs) times.push(performance.now() - sentAt);
    statuses.add(status);
  };
  const send = async (tenant: LoadedTenant, at: number) => {
    const everyMs = 1000 / share;
    for (let sent = 0; ; sent++) {
      const waitMs = (sent + at / tenants.length) * everyMs - (performance.now() - begun);
      if (waitMs > 0) await Bun.sleep(waitMs);
      if (performance.now() - begun > settleMs + windowMs) return;
      asked.push(ask(tenant, sent));
    }
  };
  await Promise.all(tenants.map(send));
  await Promise.all(asked);
  return times;
}

const p99 = (times: readonly number[]) =>
  times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? Number.NaN;
