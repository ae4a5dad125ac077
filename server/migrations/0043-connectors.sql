-- What a connector connects to. Connectors without settings stay valid: grants of outside systems use them.
alter table svc.connectors
  drop constraint connectors_kind_check,
  add constraint connectors_kind_check check (kind in ('tables', 'postgres', 'mysql', 'http')),
  add column app_id uuid references svc.apps on delete set null,
  -- host, port, database, username, tls, ca_certificate
  add column connection jsonb,
  add column password_sealed bytea,
  add column writable boolean not null default false,
  -- Counts changes of the settings: open connections belong to one version.
  add column connection_version int not null default 0,
  add column schema_refreshed_at timestamptz;
create index connectors_app on svc.connectors (app_id) where app_id is not null;

-- Tables and views of the data source as of the last refresh.
create table svc.connector_tables (
  connector_id uuid not null references svc.connectors on delete cascade,
  tenant_id    uuid not null references svc.tenants on delete cascade,
  schema_name  text not null,
  table_name   text not null,
  kind         text not null check (kind in ('table', 'view')),
  columns      jsonb not null,
  primary_key  text[] not null,
  primary key (connector_id, schema_name, table_name)
);
create index connector_tables_tenant on svc.connector_tables (tenant_id);
