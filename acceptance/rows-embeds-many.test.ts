import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { useFixture } from '../scripts/use-fixture.ts';
import { isOnCitus } from './support/citus.ts';
import { openServerDatabase } from './support/database.ts';
import { done } from './support/people.ts';
import { rowsWorld } from './support/rows.ts';
import { until } from './support/until.ts';

const world = useFixture(rowsWorld);

describe('lists with many related rows', () => {
  const kids = 130;

  async function newFamilies() {
    const parents = await world.table(['n:int', 'name:text']);
    const children = await world.table([`parent:ref:${parents.name}`, 'n:int']);
    const toys = await world.table([`child:ref:${children.name}`, 'n:int']);
    const numbered = (length: number) => Array.from({ length }, (_, n) => n);
    const { ids } = (await parents.batch(numbered(30).map((n) => ({ n, name: `p${n}` })))).body;
    const own = numbered(kids).map((n) => ({ parent: ids[0], n }));
    const others = ids.slice(1).flatMap((parent: string) => numbered(3).map((n) => ({ parent, n })));
    const born = (await children.batch([...own, ...others])).body.ids;
    await toys.batch(born.map((child: string, n: number) => ({ child, n })));
    const select = `select=n,${children.name}(n,parent(name),${toys.name}(n))&${children.name}.sort=n&sort=n`;
    return { parents, children, toys, select };
  }

  test('show 100 of them for each row, or as many as asked for, in their order', async () => {
    const { parents, children, toys, select } = await newFamilies();
    const [first, second] = await parents.list(`?${select}`);
    const child = (n: number) => ({ n, parent: { name: 'p0' }, [toys.name]: [{ n }] });
    expect(first).toEqual({
      n: 0,
      [children.name]: Array.from({ length: 100 }, (_, n) => child(n)),
    });
    expect(second[children.name].map(({ n }: { n: number }) => n)).toEqual([0, 1, 2]);
    const [last] = await parents.list(`?${select.replace('.sort=n', '.sort=-n')}&${children.name}.limit=2`);
    expect(last[children.name]).toEqual([child(kids - 1), child(kids - 2)]);
  });

  // Citus has the log of another server.
  test.skipIf(isOnCitus)('take one statement, however many rows they show', async () => {
    const { parents, children, select } = await newFamilies();
    const { server, app } = world;
    const database = openServerDatabase(server);
    const logged = () =>
      readFileSync(join(server.dataDir, 'postgres.log'), 'utf8')
        .split('\n')
        .filter(
          (line) => / LOG: {2}(?:execute|statement)/.test(line) && line.includes(app.id.replaceAll('-', '')),
        );
    const setLogging = async (value: string) => {
      await database.query(`alter system ${value}`);
      await database.query('select pg_reload_conf()');
    };
    await setLogging(`set log_statement = 'all'`);
    try {
      await until('statements are logged', async () => {
        await children.list('?n=eq.-1');
        return logged().length > 0;
      });
      for (const [search, rows] of [
        [`?${select}&per_page=1`, 1],
        [`?${select}&per_page=30`, 30],
        [`?${select}&per_page=30&${children.name}.limit=1`, 30],
      ] as const) {
        const before = logged().length;
        expect((await parents.list(search)).length).toBe(rows);
        // The log is in the order of time: what comes before the count has been written with it.
        const count = await done(parents.send('GET', '/_count?n=lt.0'));
        expect(count).toEqual({ count: 0 });
        await until('the count is logged', async () =>
          logged()
            .slice(before)
            .some((line) => line.includes('select count(')),
        );
        const lists = logged()
          .slice(before)
          .filter((line) => !line.includes('select count('));
        expect([search, lists.length]).toEqual([search, 1]);
      }
    } finally {
      await setLogging('reset log_statement');
      await database.close();
    }
  });
});
