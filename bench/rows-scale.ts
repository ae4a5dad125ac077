import { statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { withCleanup } from './rows/cleanup.ts';
import { waitUntilIdle } from './rows/cpu.ts';
import { percentile } from './rows/measure.ts';
import {
  createApp,
  createPat,
  createTable,
  type Server,
  startServer,
  type Table,
} from './rows/start-server.ts';

const sizes = { small: 10_000, large: 10_000_000 };
const categories = 10;
const perPage = 20;
const rounds = 40;
const requestsPerRound = 50;
const depths = [0.2, 0.35, 0.5, 0.65, 0.8];
const ratioMax = 1.2;
const diskBytesMin = 8 * 1024 ** 3;

/** A page of 20 from an indexed filter: 10 million rows against 10 thousand, first page and deep pages. */
export async function main(): Promise<void> {
  const { bavail, bsize } = statfsSync(tmpdir());
  if (bavail * bsize < diskBytesMin) throw new Error(`Needs 8 GiB free in ${tmpdir()}.`);
  await withCleanup(async (cleanup) => {
    const server = await startServer(cleanup);
    const app = await createApp(server, 'scale');
    const pat = await createPat(server);
    const columns = ['id:bigint', 'category:int'];
    const createCategorized = (name: string) =>
      createTable(server, app, { name, columns, index: ['category', 'created_at'] });
    const small = await createCategorized('small');
    const large = await createCategorized('large');
    await fill(server, small, sizes.small);
    const startedAt = performance.now();
    await fill(server, large, sizes.large);
    console.log(`10 million rows inserted in ${((performance.now() - startedAt) / 1000).toFixed(0)} s`);

    const fetchPage = async (table: Table, query: string) => {
      const response = await fetch(`http://127.0.0.1:${server.port}${table.path}?${query}`, {
        headers: { 'x-api-key': pat },
      });
      const page = (await response.json()) as { data: unknown[]; next_cursor: string };
      if (response.status !== 200 || page.data.length !== perPage) {
        throw new Error(`${query}: ${response.status} with ${page.data?.length} rows`);
      }
      return page;
    };
    const queries = async (table: Table, rows: number) => {
      const list = `sort=-created_at&per_page=${perPage}`;
      const first = Array.from({ length: categories }, (_, category) => `category=eq.${category}&${list}`);
      const deep: string[] = [];
      for (const query of first) {
        for (const depth of depths) {
          const page = Math.floor((rows / categories / perPage) * depth);
          const { next_cursor } = await fetchPage(table, `${query}&page=${page}`);
          deep.push(`${query}&cursor=${next_cursor}`);
        }
      }
      return { first, deep };
    };
    const cases = { small: await queries(small, sizes.small), large: await queries(large, sizes.large) };
    for (const kind of ['first', 'deep'] as const) {
      const times = { small: [] as number[], large: [] as number[] };
      await waitUntilIdle();
      for (let round = 0; round < rounds; round++) {
        const order = round % 2 === 0 ? (['small', 'large'] as const) : (['large', 'small'] as const);
        for (const size of order) {
          const table = size === 'small' ? small : large;
          const list = cases[size][kind];
          for (let i = 0; i < requestsPerRound; i++) {
            const query = list[(round * requestsPerRound + i) % list.length] ?? '';
            const sent = performance.now();
            await fetchPage(table, query);
            if (round >= 4) times[size].push(performance.now() - sent);
          }
        }
      }
      report(kind === 'first' ? 'page 1' : 'deep cursor', times);
    }
  });
}

async function fill(server: Server, table: Table, rows: number): Promise<void> {
  const names = ['id', 'category', 'created_at', 'updated_at'].map((name) => `"${table.column(name)}"`);
  for (let from = 1; from <= rows; from += 1_000_000) {
    const to = Math.min(rows, from + 999_999);
    await server.sql(`
      insert into ${table.physical} (${names.join(', ')}, v)
      select i, abs(hashint8(i)) % ${categories}, t, t, 1
      from generate_series(${from}::int8, ${to}::int8) i,
        lateral (select timestamptz '2026-01-01' + i * interval '1 second' as t) times`);
  }
  await server.sql(`vacuum analyze ${table.physical}`);
  await server.sql('checkpoint');
}

function report(title: string, times: { small: number[]; large: number[] }): void {
  const text = (list: number[]) =>
    `p50 ${percentile(list, 0.5).toFixed(3)} ms, p99 ${percentile(list, 0.99).toFixed(3)} ms`;
  const ratio = percentile(times.large, 0.5) / percentile(times.small, 0.5);
  console.log(`${title}: 10 thousand ${text(times.small)}; 10 million ${text(times.large)}`);
  console.log(
    `  10 million to 10 thousand (p50): ${ratio.toFixed(2)}, goal <= ${ratioMax}: ${ratio <= ratioMax ? 'PASS' : 'MISS'}`,
  );
}
