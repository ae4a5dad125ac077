-- The column type date.

alter table svc.app_table_columns drop constraint app_table_columns_type_check;
alter table svc.app_table_columns add constraint app_table_columns_type_check
  check (type in ('text', 'int', 'bigint', 'float', 'bool', 'timestamptz', 'date', 'uuid', 'jsonb'));
