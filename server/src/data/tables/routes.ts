import * as declaredShapes from '@svc/contract/declared-tables.shapes.ts';
import * as declaredEndpoints from '@svc/contract/declared-tables.ts';
import * as shapes from '@svc/contract/tables.shapes.ts';
import * as endpoints from '@svc/contract/tables.ts';
import { type Route, routes } from '../../http/router.ts';
import { getTableAccess, setTableAccess } from './access.ts';
import { applyTables, checkTables, exportTables } from './apply-tables.ts';
import { addColumn, dropColumn } from './columns.ts';
import { issueTableGrant, listTableGrants, revokeTableGrant } from './grants.ts';
import { addIndex, dropIndex, listIndexes } from './indexes.ts';
import { createTable, dropTable, getTable, listTables, updateTable } from './tables.ts';
import { updateColumn } from './update-column.ts';

export const tableRoutes: Route[] = [
  ...routes(declaredEndpoints, declaredShapes, {
    exportTables: (ctx) => exportTables(ctx),
    applyTables: (ctx, { body }) => applyTables(ctx, body),
    checkTables: (ctx, { body }) => checkTables(ctx, body),
  }),
  ...routes(endpoints, shapes, {
    listTables: (ctx, { query }) => listTables(ctx, query),
    createTable: (ctx, { body }) => createTable(ctx, body),
    getTable: (ctx, { params: { table } }) => getTable(ctx, { table }),
    getTableAccess: (ctx, { params: { table } }) => getTableAccess(ctx, { table }),
    setTableAccess: (ctx, { params: { table }, body }) => setTableAccess(ctx, { table, set: body }),
    updateTable: (ctx, { params: { table }, body }) => updateTable(ctx, { table, set: body }),
    dropTable: (ctx, { params: { table } }) => dropTable(ctx, { table }),
    addColumn: (ctx, { params: { table }, body }) => addColumn(ctx, { table, column: body }),
    updateColumn: (ctx, { params: { table, column }, body }) =>
      updateColumn(ctx, { table, column, set: body }),
    dropColumn: (ctx, { params: { table, column } }) => dropColumn(ctx, { table, column }),
    listIndexes: (ctx, { params: { table }, query }) => listIndexes(ctx, { table, query }),
    addIndex: (ctx, { params: { table }, body }) => addIndex(ctx, { table, index: body }),
    dropIndex: (ctx, { params: { table, index } }) => dropIndex(ctx, { table, index }),
    listTableGrants: (ctx, { params: { table }, query }) => listTableGrants(ctx, { table, query }),
    issueTableGrant: (ctx, { params: { table }, body }) => issueTableGrant(ctx, { table, grant: body }),
    revokeTableGrant: (ctx, { params: { table, grantID } }) =>
      revokeTableGrant(ctx, { table, grantId: grantID }),
  }),
];
