import { expect, test } from 'bun:test';
import { patientMs } from '../scripts/patience.ts';
import { insertLines, rowsWorld } from './support/rows.ts';

const rowsCount = 50_000;

test('while the type and the checks of a column change, reads and writes go on, and none is lost', async () => {
  const world = await rowsWorld();
  const table = await world.table(['x:int', 's:text:nullable']);
  const lines = Array.from({ length: rowsCount }, (_, x) => `{"x":${x},"s":"row ${x}"}`);
  await insertLines(world.owner, table.path, lines);
  let isDone = false;
  let written = 0;
  let readMsMax = 0;
  const statuses = new Set<number>();
  const reader = async () => {
    while (!isDone) {
      const started = performance.now();
      const { status } = await table.send('GET', '?x=lt.5&sort=-x&per_page=3');
      readMsMax = Math.max(readMsMax, performance.now() - started);
      statuses.add(status);
      await Bun.sleep(5);
    }
  };
  const writer = async () => {
    while (!isDone) {
      const { status } = await table.send('POST', '', { x: 7 });
      statuses.add(status);
      if (status === 201) written++;
      await Bun.sleep(5);
    }
  };
  const load = [reader(), reader(), writer(), writer()];
  const changes = [
    { type: 'bigint' },
    { checks: { min: 0 } },
    { type: 'decimal(20,1)' },
    { checks: { max: '99999' } },
    { checks: { min: null, max: null } },
  ];
  const started = performance.now();
  for (const change of changes)
    expect([change, (await table.shape('PATCH', '/columns/x', change)).status]).toEqual([change, 200]);
  const changeMs = Math.round(performance.now() - started);
  isDone = true;
  await Promise.all(load);
  console.log(
    `column type: ${changes.length} changes of ${rowsCount} rows in ${changeMs} ms; slowest read ${Math.round(readMsMax)} ms, ${written} writes`,
  );
  expect([...statuses].sort()).toEqual([200, 201]);
  expect(readMsMax).toBeLessThan(patientMs(2_000));
  expect((await table.send('GET', '/_count')).body.count).toBe(rowsCount + written);
});
