-- Types with arguments (decimal(12,2), enum(a,b)), lists, numbers that the server assigns, and checks of values.

alter table svc.app_table_columns drop constraint app_table_columns_type_check;
alter table svc.app_table_columns add constraint app_table_columns_type_check check (type ~
  '^(text|int|bigint|float|bool|timestamptz|date|uuid|jsonb|text\[\]|int\[\]|autonumber|decimal\([0-9]+,[0-9]+\)|enum\(.+\))$');

-- Null if the column has none.
alter table svc.app_table_columns add column checks jsonb;
