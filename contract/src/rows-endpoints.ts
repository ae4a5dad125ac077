import { act, change, read, remove, update, who } from './endpoint.ts';
import type * as shapes from './rows-endpoints.shapes.ts';

/** Served by the row path and not by the router of the control plane, hence listed apart from its endpoints. */
const rows = {
  authority: { credential: 'login_or_pat', role: 'tenant_member', outsider: 'not_found' },
  who: who('O:y C:y A:g M:g P:y N:n X:n'),
} as const;
const collection = '/data/{tenant}/{app}/{table}';
const one = `${collection}/{id}`;

export const listRows = read<typeof shapes.listRows>()({
  id: 'rows.list',
  path: collection,
  summary: 'List rows by page, or stream all with Accept: application/x-ndjson or text/csv',
  ...rows,
  errors: ['unknown_column', 'invalid_cursor', 'forbidden', 'uri_too_long'],
});

export const countRows = read<typeof shapes.countRows>()({
  id: 'rows.count',
  path: `${collection}/_count`,
  summary: 'Count the rows of a list',
  ...rows,
  errors: ['unknown_column', 'forbidden', 'uri_too_long'],
});

export const getOwnAccess = read<typeof shapes.getOwnAccess>()({
  id: 'rows.access',
  path: `${collection}/_access`,
  summary: 'Get your own access to a table, and why you see nothing',
  authority: rows.authority,
  who: who('O:y C:y A:v M:v P:y N:n X:n'),
});

export const aggregateRows = read<typeof shapes.aggregateRows>()({
  id: 'rows.aggregate',
  path: `${collection}/_aggregate`,
  summary: 'Group rows, and count, sum or compare the values of each group',
  ...rows,
  errors: ['unknown_column', 'invalid_cursor', 'forbidden', 'uri_too_long'],
});

export const followRows = read<typeof shapes.followRows>()({
  id: 'rows.changes',
  path: `${collection}/_changes`,
  summary: 'Follow the changes of rows as a stream of events',
  ...rows,
  errors: ['unknown_column', 'forbidden', 'uri_too_long', 'changes_off'],
});

export const listRowHistory = read<typeof shapes.listRowHistory>()({
  id: 'rows.history',
  path: `${one}/_history`,
  summary: 'List the changes of a row, newest first',
  ...rows,
  errors: ['forbidden', 'history_off'],
});

export const listTrash = read<typeof shapes.listTrash>()({
  id: 'rows.trash',
  path: `${collection}/_trash`,
  summary: 'List deleted rows that can be restored',
  ...rows,
  errors: ['forbidden', 'history_off'],
});

const restoreErrors = [
  'unique_violation',
  'not_null_violation',
  'history_off',
  'restore_conflict',
  'app_not_active',
  'forbidden',
] as const;

export const restoreRow = act<typeof shapes.restoreRow>()({
  id: 'rows.restore',
  path: `${one}/_restore`,
  summary: 'Insert a deleted row again, with its id and its owner',
  ...rows,
  errors: restoreErrors,
});

export const restoreRows = act<typeof shapes.restoreRows>()({
  id: 'rows.restoreMany',
  path: `${collection}/_restore`,
  summary: 'Bring back all rows that a request has deleted or updated',
  ...rows,
  errors: restoreErrors,
});

export const getRow = read<typeof shapes.getRow>()({
  id: 'rows.get',
  path: one,
  summary: 'Get a row',
  ...rows,
  errors: ['unknown_column', 'forbidden'],
  etag: true,
});

export const insertRows = change<typeof shapes.insertRows>()({
  id: 'rows.insert',
  path: collection,
  summary: 'Insert one row, or many in one transaction',
  ...rows,
  errors: ['unknown_column', 'unique_violation', 'rate_limited', 'app_not_active', 'forbidden'],
  etag: true,
});

export const updateRow = update<typeof shapes.updateRow>()({
  id: 'rows.update',
  path: one,
  summary: 'Update columns of a row',
  ...rows,
  errors: ['unknown_column', 'unique_violation', 'precondition_failed', 'app_not_active', 'forbidden'],
  etag: true,
});

export const deleteRow = remove<typeof shapes.deleteRow>()({
  id: 'rows.delete',
  path: one,
  summary: 'Delete a row',
  ...rows,
  errors: ['precondition_failed', 'app_not_active', 'forbidden'],
  irreversible: true,
  etag: true,
});

export const updateRows = update<typeof shapes.updateRows>()({
  id: 'rows.updateMany',
  path: collection,
  summary: 'Update the rows that match a filter',
  ...rows,
  errors: [
    'unknown_column',
    'unique_violation',
    'max_affected_exceeded',
    'app_not_active',
    'forbidden',
    'uri_too_long',
  ],
});

export const deleteRows = remove<typeof shapes.deleteRows>()({
  id: 'rows.deleteMany',
  path: collection,
  summary: 'Delete the rows that match a filter',
  ...rows,
  status: 200,
  errors: ['unknown_column', 'max_affected_exceeded', 'app_not_active', 'forbidden', 'uri_too_long'],
  irreversible: true,
});

export const batchRows = act<typeof shapes.batchRows>()({
  id: 'rows.batch',
  path: '/data/{tenant}/{app}/_batch',
  summary: 'Change rows of several tables in one transaction',
  ...rows,
  errors: ['unknown_column', 'unique_violation', 'precondition_failed', 'app_not_active', 'forbidden'],
});
