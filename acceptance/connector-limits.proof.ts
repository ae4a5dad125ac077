import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { newPreset, openWarehouse } from './support/warehouse-rows.ts';
import { startWarehouse, type Warehouse, warehouseKinds } from './support/warehouses.ts';

/** What one request may cost the organisation's database and this server. */
describe.each(warehouseKinds)('a connector of kind %s', (kind, isAvailable) => {
  const available = test.skipIf(!isAvailable);
  let warehouse: Warehouse;

  beforeAll(async () => {
    if (!isAvailable) return;
    warehouse = await startWarehouse(kind);
    const numbers = `with recursive s (n) as (select 1 union all select n + 1 from s where n < 300)`;
    const fill = `select n, repeat('x', 200000) from s`;
    await warehouse.query(
      `create table sales.wide (id int primary key, body ${kind === 'postgres' ? 'text' : 'mediumtext'});
       ${kind === 'postgres' ? `${numbers} insert into sales.wide ${fill}` : `set max_recursive_iterations = 100000; insert into sales.wide ${numbers} ${fill}`};
       create table sales.numbers (id int primary key);
       insert into sales.numbers select id from sales.wide;
       create view sales.slow as select id, ${kind === 'postgres' ? 'pg_sleep(60)::text' : 'concat(sleep(60))'} as body from sales.numbers`,
    );
  });
  afterAll(() => warehouse?.stop());

  available('ends a statement after ten seconds, while others are answered', async () => {
    const { get, grant } = await openWarehouse(warehouse);
    await grant();
    expect((await get('sales/numbers?per_page=1')).status).toBe(200);
    const startedAt = performance.now();
    let isOver = false;
    const slow = Promise.all([get('sales/slow?select=body'), get('sales/slow/_count?body=neq.x')]).then(
      (answers) => {
        isOver = true;
        return { answers, ms: performance.now() - startedAt };
      },
    );
    let [quick, slowest] = [0, 0];
    while (!isOver) {
      const sentAt = performance.now();
      expect((await get('sales/numbers?per_page=1')).status).toBe(200);
      slowest = Math.max(slowest, performance.now() - sentAt);
      quick++;
      await Bun.sleep(50);
    }
    const { answers, ms } = await slow;
    console.log(
      `connector limits on ${kind}: ended after ${Math.round(ms)} ms; ${quick} other reads meanwhile, the slowest ${Math.round(slowest)} ms`,
    );
    for (const { status, body } of answers) expect([status, body.code]).toEqual([504, 'query_timeout']);
    expect(ms).toBeGreaterThan(9_000);
    expect(ms).toBeLessThan(20_000);
    expect(quick).toBeGreaterThan(20);
  });

  available('shows at most 200 rows and 32 MiB in a page, and all of them in an export', async () => {
    const opened = await openWarehouse(warehouse);
    const { get, grant } = opened;
    await grant({ preset_id: await newPreset(opened, 'read', 'export') });
    expect((await get('sales/numbers?per_page=201')).status).toBe(400);
    const page = await get('sales/numbers?per_page=200');
    expect([page.body.data.length, page.body.has_more]).toEqual([200, true]);
    const large = await get('sales/wide?per_page=200');
    expect([large.status, large.body.code]).toEqual([413, 'payload_too_large']);
    expect(large.body.detail).toContain('Request fewer rows with per_page.');
    // The connection goes on.
    expect((await get('sales/wide?per_page=100')).body.data.length).toBe(100);
    const exported = await get('sales/wide?select=id', { accept: 'application/x-ndjson' });
    expect([exported.status, exported.text.split('\n').length]).toEqual([200, 301]);
  });

  available('takes rows of at most 1 MiB', async () => {
    const opened = await openWarehouse(warehouse, { writable: true }, 'writer');
    const { t, grant } = opened;
    await grant({ preset_id: await newPreset(opened, 'read', 'insert', 'delete') });
    const path = `/data/${t.id}/_connectors/warehouse/sales/wide`;
    const insert = (id: number, bytes: number) =>
      t.member.call('POST', path, { id, body: 'y'.repeat(bytes) }, { prefer: 'return=minimal' });
    expect((await insert(9_000, 1024 * 1024)).status).toBe(413);
    expect((await insert(9_001, 60_000)).status).toBe(201);
    expect((await t.member.call('DELETE', `${path}/9001`)).status).toBe(204);
  });
});
