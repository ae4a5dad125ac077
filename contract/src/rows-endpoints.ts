import { endpoint, who } from './endpoint.ts';
import type * as shapes from './rows-endpoints.shapes.ts';

/** Served by the row path and not by the router of the control plane, hence listed apart from its endpoints. */
const rows = {
  authority: { credential: 'login_or_pat', role: 'tenant_member', outsider: 'not_found' },
  who: who('O:y C:y A:g M:g P:y N:n X:n'),
} as const;
const collection = '/data/{tenant}/{app}/{table}';
const one = `${collection}/{id}`;

export const listRows = endpoint<typeof shapes.listRows>()({
  id: 'rows.list',
  method: 'GET',
  path: collection,
  summary: 'A page of rows, or with Accept: application/x-ndjson all of them as a stream',
  kind: 'read',
  ...rows,
  status: 200,
  errors: ['unknown_column', 'invalid_cursor', 'forbidden', 'uri_too_long'],
});

export const countRows = endpoint<typeof shapes.countRows>()({
  id: 'rows.count',
  method: 'GET',
  path: `${collection}/_count`,
  summary: 'How many rows a list would hold',
  kind: 'read',
  ...rows,
  status: 200,
  errors: ['unknown_column', 'forbidden', 'uri_too_long'],
});

export const getRow = endpoint<typeof shapes.getRow>()({
  id: 'rows.get',
  method: 'GET',
  path: one,
  summary: 'One row',
  kind: 'read',
  ...rows,
  status: 200,
  errors: ['unknown_column', 'forbidden'],
  etag: true,
});

export const insertRows = endpoint<typeof shapes.insertRows>()({
  id: 'rows.insert',
  method: 'POST',
  path: collection,
  summary: 'Insert one row, or many at once, all or none',
  kind: 'mutate',
  ...rows,
  status: 201,
  errors: ['unknown_column', 'unique_violation', 'rate_limited', 'app_not_active', 'forbidden'],
  etag: true,
});

export const updateRow = endpoint<typeof shapes.updateRow>()({
  id: 'rows.update',
  method: 'PATCH',
  path: one,
  summary: 'Change some columns of a row',
  kind: 'mutate',
  ...rows,
  status: 200,
  errors: ['unknown_column', 'unique_violation', 'precondition_failed', 'app_not_active', 'forbidden'],
  etag: true,
});

export const deleteRow = endpoint<typeof shapes.deleteRow>()({
  id: 'rows.delete',
  method: 'DELETE',
  path: one,
  summary: 'Delete a row',
  kind: 'mutate',
  ...rows,
  status: 204,
  errors: ['precondition_failed', 'app_not_active', 'forbidden'],
  irreversible: true,
  etag: true,
});
