import * as shapes from '@svc/contract/tables.shapes.ts';
import * as endpoints from '@svc/contract/tables.ts';
import { type Route, route } from '../plumbing/route.ts';
import { addColumn } from './add-column.ts';
import { addIndex } from './add-index.ts';
import { createTable } from './create-table.ts';
import { dropColumn } from './drop-column.ts';
import { dropIndex } from './drop-index.ts';
import { dropTable } from './drop-table.ts';
import { getTable } from './get-table.ts';
import { issueTableGrant } from './issue-table-grant.ts';
import { listIndexes } from './list-indexes.ts';
import { listTableGrants } from './list-table-grants.ts';
import { listTables } from './list-tables.ts';
import { revokeTableGrant } from './revoke-table-grant.ts';
import { updateColumn } from './update-column.ts';
import { updateTable } from './update-table.ts';

export const tableRoutes: Route[] = [
  route(endpoints.listTables, shapes.listTables, (ctx, { query }) => listTables(ctx, query)),
  route(endpoints.createTable, shapes.createTable, (ctx, { body }) => createTable(ctx, body)),
  route(endpoints.getTable, shapes.getTable, (ctx, { params: { table } }) => getTable(ctx, { table })),
  route(endpoints.updateTable, shapes.updateTable, (ctx, { params: { table }, body }) =>
    updateTable(ctx, { table, set: body }),
  ),
  route(endpoints.dropTable, shapes.dropTable, (ctx, { params: { table } }) => dropTable(ctx, { table })),
  route(endpoints.addColumn, shapes.addColumn, (ctx, { params: { table }, body }) =>
    addColumn(ctx, { table, column: body }),
  ),
  route(endpoints.updateColumn, shapes.updateColumn, (ctx, { params: { table, column }, body }) =>
    updateColumn(ctx, { table, column, set: body }),
  ),
  route(endpoints.dropColumn, shapes.dropColumn, (ctx, { params: { table, column } }) =>
    dropColumn(ctx, { table, column }),
  ),
  route(endpoints.listIndexes, shapes.listIndexes, (ctx, { params: { table }, query }) =>
    listIndexes(ctx, { table, query }),
  ),
  route(endpoints.addIndex, shapes.addIndex, (ctx, { params: { table }, body }) =>
    addIndex(ctx, { table, index: body }),
  ),
  route(endpoints.dropIndex, shapes.dropIndex, (ctx, { params: { table, index } }) =>
    dropIndex(ctx, { table, index }),
  ),
  route(endpoints.listTableGrants, shapes.listTableGrants, (ctx, { params: { table }, query }) =>
    listTableGrants(ctx, { table, query }),
  ),
  route(endpoints.issueTableGrant, shapes.issueTableGrant, (ctx, { params: { table }, body }) =>
    issueTableGrant(ctx, { table, grant: body }),
  ),
  route(endpoints.revokeTableGrant, shapes.revokeTableGrant, (ctx, { params: { table, grantID } }) =>
    revokeTableGrant(ctx, { table, grantId: grantID }),
  ),
];
