import { expect, test } from 'bun:test';
import { parseDataScope, scopedActions } from './data-scopes.ts';

test.each([
  ['warehouse/sales/orders:read', { connector: 'warehouse', path: 'sales/orders', action: 'read' }],
  ['warehouse/sales/*:export', { connector: 'warehouse', path: 'sales', action: 'export' }],
  ['warehouse/*:insert', { connector: 'warehouse', path: '', action: 'insert' }],
  ['warehouse/sales/a:b:delete', { connector: 'warehouse', path: 'sales/a:b', action: 'delete' }],
  ['warehouse/sales/orders', null],
  ['warehouse/sales/orders:write', null],
  ['warehouse/sales:read', null],
  ['warehouse/sales/or*:read', null],
  ['warehouse/*/orders:read', null],
  ['*/sales/orders:read', null],
  ['warehouse/../orders:read', null],
  ['warehouse/sales/..:read', null],
  ['Warehouse/sales/orders:read', null],
  ['crm', null],
])('%s is the data scope %p', (text, scope) => {
  expect(parseDataScope(text)).toEqual(scope as ReturnType<typeof parseDataScope>);
});

test('scopes cover a table by its name, its schema or its connector, and no other', () => {
  const scopes = ['crm', 'w1/sales/orders:read', 'w1/sales/*:export', 'w2/*:read'];
  const actions = (connector: string, path: string) => [...scopedActions(scopes, { connector, path })];
  expect(actions('w1', 'sales/orders')).toEqual(['read', 'export']);
  expect(actions('w1', 'sales/orders2')).toEqual(['export']);
  expect(actions('w1', 'sales2/orders')).toEqual([]);
  expect(actions('w2', 'any/table')).toEqual(['read']);
  expect(actions('w3', 'sales/orders')).toEqual([]);
});
