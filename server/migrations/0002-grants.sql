-- Permission grants for data connectors.

create table svc.connectors (
  id          uuid primary key,
  tenant_id   uuid not null references svc.tenants on delete cascade,
  slug        text not null,
  name        text not null,
  kind        text not null check (kind in ('tables', 'postgres', 'http')),
  description text not null,
  created_by  text not null,
  created_at  timestamptz not null,
  updated_at  timestamptz not null,
  unique (tenant_id, slug)
);

-- The built-in presets are constants of the contract and have no rows.
create table svc.presets (
  id          uuid primary key,
  tenant_id   uuid not null references svc.tenants on delete cascade,
  name        text not null,
  actions     text[] not null,
  description text not null,
  created_at  timestamptz not null,
  updated_at  timestamptz not null,
  unique (tenant_id, name)
);

create table svc.access_policies (
  id            uuid primary key,
  tenant_id     uuid not null references svc.tenants on delete cascade,
  name          text not null,
  description   text not null,
  connector_id  uuid references svc.connectors,
  resource_path text not null,
  actions       text[] not null,
  row_filter    text not null,
  columns       jsonb not null,
  masks         jsonb not null,
  enabled       boolean not null,
  version       int not null,
  created_by    text not null,
  created_at    timestamptz not null,
  updated_by    text not null,
  updated_at    timestamptz not null,
  unique (tenant_id, name)
);

-- A grant keeps the ids it was made with, also of what is deleted later, so no foreign keys on those: a policy,
-- connector or preset that an *active* grant names can not be deleted, which the verbs check under row locks.
create table svc.grants (
  id                   uuid primary key,
  tenant_id            uuid not null references svc.tenants on delete cascade,
  subject_id           text not null,
  subject_kind         text not null check (subject_kind in ('user', 'group', 'app', 'service_account')),
  connector_id         uuid not null,
  preset_id            text not null,
  policy_ids           text[] not null,
  scope_resource_paths text[] not null check (cardinality(scope_resource_paths) <= 200),
  status               text not null check (status in ('active', 'revoked', 'expired')),
  reason               text not null,
  source               text not null check (source in ('manual', 'request', 'api', 'bootstrap')),
  granted_by           text not null,
  granted_at           timestamptz not null,
  expires_at           timestamptz,
  revoked_by           text not null,
  revoked_at           timestamptz,
  created_at           timestamptz not null,
  updated_at           timestamptz not null
);
create index grants_subject on svc.grants (tenant_id, subject_id, granted_at desc, id desc) where status = 'active';
create index grants_listed on svc.grants (tenant_id, granted_at desc, id desc);
create index grants_connector on svc.grants (tenant_id, connector_id) where status = 'active';
create index grants_policies on svc.grants using gin (policy_ids) where status = 'active';
create index grants_expiry on svc.grants (expires_at) where status = 'active' and expires_at is not null;
