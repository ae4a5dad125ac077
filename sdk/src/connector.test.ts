import { expect, test } from 'bun:test';
import { createClient } from './client.ts';
import { SvcError } from './errors.ts';
import { emptyPage, problem, scriptedServer } from './testing.ts';

const server = scriptedServer();
const client = createClient({ baseUrl: server.baseUrl, tenant: 'acme', app: 'todo', auth: { apiKey: 'k' } });
const warehouse = client.connector('warehouse');

test('tables of connectors are addressed by schema and table', async () => {
  server.answerWith(emptyPage);
  await warehouse.table('sales/orders').list();
  await warehouse.table('sales/all/of it').list();
  await warehouse
    .table('sales/orders')
    .get('_count')
    .catch(() => {});
  expect(server.seen.map(({ path }) => path)).toEqual([
    '/data/acme/_connectors/warehouse/sales/orders',
    '/data/acme/_connectors/warehouse/sales/all%2Fof%20it',
    '/data/acme/_connectors/warehouse/sales/orders/%5Fcount',
  ]);
  for (const path of ['orders', '/orders', ''])
    expect(() => warehouse.table(path)).toThrow(`${path} must be schema/table.`);
});

test('a refusal says where access can be requested', async () => {
  const url = 'https://svc.example.com/t/acme/grants/request?connector=warehouse';
  server.answerWith(
    () => problem(403, 'grant_missing', { request_url: url }),
    () => problem(403, 'data_scope_missing'),
  );
  const refusal = async () => {
    const error = await warehouse
      .table('sales/orders')
      .list()
      .catch((caught: unknown) => caught);
    return error instanceof SvcError ? [error.code, error.requestUrl] : error;
  };
  expect(await refusal()).toEqual(['grant_missing', url]);
  expect(await refusal()).toEqual(['data_scope_missing', null]);
});
