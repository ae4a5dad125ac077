import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import {
  availableKinds,
  newPreset,
  type Opened,
  openWarehouse,
  startWarehouse,
  type Warehouse,
} from './support/warehouses.ts';

const hugeBytes = 200 * 1024 * 1024;

/** What one request may cost the organisation's database and this server, with all kinds of connectors at once. */
describe.skipIf(availableKinds.length === 0)(`connectors of kind ${availableKinds.join(' and ')}`, () => {
  let warehouses: Warehouse[] = [];

  beforeAll(async () => {
    warehouses = await Promise.all(availableKinds.map(startFilled));
  });
  afterAll(() => Promise.all(warehouses.map(({ stop }) => stop())));

  /** For each kind: a tenant of its own. */
  const each = <T>(work: (kind: Warehouse['kind'], opened: Opened) => Promise<T>): Promise<T[]> =>
    Promise.all(warehouses.map(async (warehouse) => work(warehouse.kind, await openWarehouse(warehouse))));

  test('end a statement after ten seconds, while others are answered', async () => {
    await each(async (kind, { get, grant }) => {
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
  });

  test('show at most 200 rows and 32 MiB in a page, and all of them in an export', async () => {
    await each(async (_, opened) => {
      const { get, grant } = opened;
      await grant({ preset_id: await newPreset(opened, 'read', 'export') });
      expect((await get('sales/numbers?per_page=201')).status).toBe(400);
      const page = await get('sales/numbers?per_page=200');
      expect([page.body.data.length, page.body.has_more]).toEqual([200, true]);
      const large = await get('sales/wide?per_page=200');
      expect([large.status, large.body.code]).toEqual([413, 'payload_too_large']);
      expect(large.body.detail).toContain('Request fewer rows with per_page.');
      // The connection goes on.
      expect((await get('sales/wide?per_page=2')).body.data.length).toBe(2);
      const exported = await get('sales/numbers', { accept: 'application/x-ndjson' });
      expect([exported.status, exported.text.split('\n').length]).toEqual([200, 301]);
    });
  });

  test('refuse a row of more than 16 MiB without storing it, and name its largest column', async () => {
    // One after the other, because the memory is measured.
    for (const warehouse of warehouses) {
      const opened = await openWarehouse(warehouse);
      const { get, grant, t } = opened;
      await grant({ preset_id: await newPreset(opened, 'read', 'export') });
      expect((await get('sales/huge?select=id,note')).body.data).toEqual([{ id: 1, note: 'n' }]);
      const before = residentMb(t.server.pid);
      let most = before;
      const watch = setInterval(() => {
        most = Math.max(most, residentMb(t.server.pid));
      }, 5);
      const lines = { accept: 'application/x-ndjson' };
      const paths = ['sales/huge', 'sales/huge/1', 'sales/huge?select=body,id&note=eq.n'];
      const answers = await Promise.all([...paths.map((path) => get(path)), get('sales/huge', lines)]);
      clearInterval(watch);
      for (const { status, body } of answers) {
        expect([status, body.code, body.errors?.[0]?.column]).toEqual([413, 'payload_too_large', 'body']);
        expect(body.detail).toBe(
          `A row is too large to be read: it may have at most 16777215 bytes. The column body has ${hugeBytes}. Select other columns.`,
        );
      }
      console.log(
        `connector limits on ${warehouse.kind}: ${answers.length} reads of a value of 200 MB at once; memory ${Math.round(before)} MB, at most ${Math.round(most)} MB`,
      );
      // Less than one of the values.
      expect(most - before).toBeLessThan(200);
      expect((await get('sales/huge?select=id,note')).body.data).toEqual([{ id: 1, note: 'n' }]);
      const asked = { connector: 'warehouse', resource_path: 'sales/huge' };
      const preview = await t.member.call('POST', `${t.base}/access/preview`, asked);
      expect([preview.status, preview.body.rows.visible]).toEqual([200, 1]);
      expect(preview.body.sample_withheld).toContain('The column body has');
    }
  });

  test('take rows of at most 1 MiB', async () => {
    await Promise.all(
      warehouses.map(async (warehouse) => {
        const opened = await openWarehouse(warehouse, { writable: true }, 'writer');
        const { t, grant } = opened;
        await grant({ preset_id: await newPreset(opened, 'read', 'insert', 'delete') });
        const path = `/data/${t.id}/_connectors/warehouse/sales/wide`;
        const insert = (id: number, bytes: number) =>
          t.member.call('POST', path, { id, body: 'y'.repeat(bytes) }, { prefer: 'return=minimal' });
        expect((await insert(9_000, 1024 * 1024)).status).toBe(413);
        expect((await insert(9_001, 60_000)).status).toBe(201);
        expect((await t.member.call('DELETE', `${path}/9001`)).status).toBe(204);
      }),
    );
  });
});

/** 300 numbers, 36 rows of 1 MB, one value of 200 MB, and a view that takes an hour. */
async function startFilled(kind: Warehouse['kind']): Promise<Warehouse> {
  const warehouse = await startWarehouse(kind);
  const isPostgres = kind === 'postgres';
  // Larger than the value that it has to store.
  if (!isPostgres) await warehouse.query('set global max_allowed_packet = 1073741824');
  const numbers = 'with recursive s (n) as (select 1 union all select n + 1 from s where n < 300)';
  const insert = (table: string, columns: string, where = '') =>
    isPostgres
      ? `${numbers} insert into ${table} select ${columns} from s ${where}`
      : `insert into ${table} ${numbers} select ${columns} from s ${where}`;
  await warehouse.query(
    `create table sales.numbers (id int primary key);
     ${insert('sales.numbers', 'n')};
     create table sales.wide (id int primary key, body ${isPostgres ? 'text' : 'mediumtext'});
     ${insert('sales.wide', "n, repeat('x', 1000000)", 'where n <= 36')};
     create table sales.huge (id int primary key, note varchar(20), body ${isPostgres ? 'text' : 'longtext'})
       ${isPostgres ? '' : 'engine = aria transactional = 0'};
     insert into sales.huge values (1, 'n', repeat('x', ${hugeBytes}));
     create view sales.slow as select id, ${isPostgres ? 'pg_sleep(60)::text' : 'concat(sleep(60))'} as body from sales.numbers`,
  );
  return warehouse;
}

const residentMb = (pid: number) =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
