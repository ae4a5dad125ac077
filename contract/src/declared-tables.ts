/** Tables as svc.yaml declares them. */
import type * as shapes from './declared-tables.shapes.ts';
import { act, read, tableOwners } from './endpoint.ts';

/** The last three drop something; `change_column` loses values where the type does not hold them all. */
export const schemaStepKinds = [
  'rename_table',
  'rename_column',
  'create_table',
  'add_column',
  'change_column',
  'update_table',
  'set_access',
  'add_index',
  'replace_index',
  'drop_index',
  'drop_column',
  'drop_table',
] as const;

const schema = '/api/v1/tenants/{tenantID}/apps/{app}/schema';

/** `tables` and `roles` of svc.yaml. */
export const exportTables = read<typeof shapes.exportTables>()({
  id: 'tables.export',
  path: schema,
  summary: 'Get the tables of the app with their columns and rules, in the format of svc.yaml',
  ...tableOwners,
});

export const applyTables = act<typeof shapes.applyTables>()({
  id: 'tables.apply',
  path: schema,
  summary: 'Change the tables to match the declaration, in one transaction; drops only with `prune`',
  ...tableOwners,
  errors: [
    'table_busy',
    'app_not_active',
    'unique_violation',
    'limit_reached',
    'not_null_violation',
    'immutable_field',
    'check_violation',
    'type_change_refused',
    'column_in_use',
    'table_in_use',
    'destructive_change',
  ],
  irreversible: 'sometimes',
});

/** Changes nothing. */
export const checkTables = read<typeof shapes.checkTables>()({
  id: 'tables.check',
  method: 'POST',
  path: `${schema}/check`,
  summary: 'Compare the tables with declared ones',
  ...tableOwners,
});
