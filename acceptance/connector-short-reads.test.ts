import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { Client } from 'pg';
import { hasPostgres15 } from './support/postgres15.ts';
import type { Warehouse } from './support/warehouses.ts';
import { openWarehouse, startOrders } from './support/warehouses.ts';

describe.if(hasPostgres15)('short reads of a PostgreSQL connector', () => {
  let warehouse: Warehouse;
  let client: Client;
  beforeAll(async () => {
    warehouse = await startOrders('postgres');
    const { port, database } = warehouse;
    client = new Client({ host: '127.0.0.1', port, user: 'postgres', password: 'secret', database });
    await client.connect();
    // A row takes longer than a shared connection allows.
    await client.query(`create table sales.slow (id int primary key); insert into sales.slow values (1), (2);
      grant select on sales.slow to reader; alter table sales.slow enable row level security;
      create policy slow on sales.slow using (pg_sleep(0.4)::text is not null)`);
  });
  afterAll(async () => {
    await client?.end();
    await warehouse?.stop();
  });

  const sessions = async (text: string) =>
    (
      await client.query<{ pid: number }>(
        `select pid from pg_stat_activity where usename = 'reader' and query like $1`,
        [text],
      )
    ).rows.map(({ pid }) => pid);

  test('share a connection, do not wait for slow ones, and survive its loss', async () => {
    const { get, grant } = await openWarehouse(warehouse);
    await grant();
    const read = async (at: number) => (await get(`sales/orders/${(at % 5) + 1}`)).body.id;
    const ids = (count: number) => Promise.all(Array.from({ length: count }, (_, at) => read(at)));
    const expected = Array.from({ length: 30 }, (_, at) => (at % 5) + 1);
    expect(await ids(30)).toEqual(expected);
    const shared = await sessions('%"orders"%');
    expect(shared.length).toBe(1);

    const slow = Promise.all([get('sales/slow/1'), get('sales/slow/2'), get('sales/slow/1')]);
    expect(await ids(30)).toEqual(expected);
    expect((await slow).map(({ status, body }) => [status, body.id])).toEqual([
      [200, 1],
      [200, 2],
      [200, 1],
    ]);
    const all = await client.query(`select from pg_stat_activity where usename = 'reader'`);
    expect(all.rowCount).toBeLessThanOrEqual(4);

    await client.query('select pg_terminate_backend($1)', [shared[0]]);
    expect(await ids(30)).toEqual(expected);
  });
});
