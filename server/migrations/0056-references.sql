-- Columns that refer to rows of another table of the app, by a foreign key of PostgreSQL. The type is that of the ids there.

alter table svc.app_table_columns
  add column ref_table uuid references svc.app_tables on delete set null,
  add column on_delete text check (on_delete in ('restrict', 'cascade', 'set_null'));
create index app_table_columns_ref on svc.app_table_columns (ref_table) where ref_table is not null;
