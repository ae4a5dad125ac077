import type { Cleanup } from './cleanup.ts';
import { rowCount } from './dataset.ts';
import { takeTurns, turn } from './governed-case.ts';
import { serverLoads } from './loads.ts';
import type { Prepared } from './prepare.ts';
import { runWrk } from './run-wrk.ts';
import { createTable } from './start-server.ts';
import type { Tools } from './tools.ts';

/** At most twice the time of a plain list. */
const embedsMin = 0.5;
const makers = 1_000;
const reviewsPerItem = 3;

/** A list of 20 rows with three kinds of related rows, beside the same list without them. */
export async function measureEmbeds(prepared: Prepared, tools: Tools, cleanup: Cleanup): Promise<void> {
  const { server, pat, inserts } = prepared;
  const app = { slug: 'bench', base: '/api/v1/tenants/demo/apps/bench' };
  const named = (name: string) =>
    createTable(server, app, { name, columns: ['id:int', 'name:text'], index: ['name'] });
  const [maker, shop] = [await named('makers'), await named('shops')];
  for (const table of [maker, shop])
    await server.sql(
      `insert into ${table.physical} select n, 'Name ' || n, now(), now(), 1 from generate_series(1, ${makers}) n`,
    );
  for (const name of ['maker', 'shop'])
    await server.call('POST', `${app.base}/tables/${inserts.name}/columns`, {
      name,
      type: `ref:${name}s`,
      nullable: true,
    });
  // Not by the category: where all rows of a category have one maker, a filter by makers finds all of them or none.
  await server.sql(
    `update ${inserts.physical} set c9 = 1 + (c8 * 7919 % ${makers})::int, c10 = 1 + (c8 % ${makers})::int`,
  );
  const reviews = await createTable(server, app, {
    name: 'reviews',
    columns: ['id:bigint', `item:ref:${inserts.name}`, 'stars:int'],
    index: ['stars'],
  });
  await server.sql(
    `insert into ${reviews.physical} select row_number() over (), c1, n, now(), now(), 1` +
      ` from ${inserts.physical}, generate_series(1, ${reviewsPerItem}) n`,
  );
  for (const table of [inserts, maker, shop, reviews]) await server.sql(`vacuum analyze ${table.physical}`);
  const { list } = serverLoads({ port: server.port, pat, reads: inserts.path, inserts: inserts.path });
  const shown = `${rowCount.toLocaleString('en')} rows`;
  // One list after the other is the time that somebody waits; 32 at a time is what the machine can do.
  for (const connections of [1, 32]) {
    const run = (name: string, more: string) => {
      const load = {
        ...list,
        name: `svc-${name}`,
        script: list.script.replace('&per_page=20', `&per_page=20${more}`),
      };
      return turn(
        (seconds) => runWrk(tools.wrk, server.folder, load, { seconds, cleanup, connections }),
        prepared,
      );
    };
    await takeTurns(
      `list of 20 of ${shown} with related rows to without, ${connections} at a time`,
      embedsMin,
      {
        'no related rows': run('plain', ''),
        'maker, shop and up to 5 reviews': run(
          'embeds',
          '&select=*,maker(name),shop(name),reviews(id,stars)&reviews.limit=5',
        ),
        'the rows of one maker or another': run('through', '&maker.name=gt.Name%205'),
      },
    );
  }
}
