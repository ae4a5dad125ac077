-- Columns of type file, and the files that were uploaded for them. The bytes are objects of the app's storage.

do $$
declare
  known text;
begin
  select pg_get_expr(conbin, conrelid) into known from pg_constraint
  where conrelid = 'svc.app_table_columns'::regclass and conname = 'app_table_columns_type_check';
  alter table svc.app_table_columns drop constraint app_table_columns_type_check;
  execute format(
    'alter table svc.app_table_columns add constraint app_table_columns_type_check check ((%s) or type ~ ''^file(\(.+\))?$'')',
    known);
end $$;

create table svc.row_files (
  id            uuid primary key,
  tenant_id     uuid not null,
  app_id        uuid not null references svc.apps (id) on delete cascade,
  table_id      uuid not null,
  column_number int not null,
  name          text not null,
  size          bigint not null,
  content_type  text not null,
  created_by    text not null,
  created_at    timestamptz not null,
  -- Null until the bytes are there.
  uploaded_at   timestamptz,
  -- A row has had it: it is looked at again only when a row gives it up.
  is_used       boolean not null default false,
  -- No row may take it any more; it is deleted if none has it a minute later.
  removing_at   timestamptz
);
create index row_files_column on svc.row_files (table_id, column_number);
create index row_files_unused on svc.row_files (created_at) where not is_used;
create index row_files_removing on svc.row_files (removing_at) where removing_at is not null;
