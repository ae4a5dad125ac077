-- Apps, and the catalogue of their dynamic tables. The rows themselves are in a schema per app, named by its id.

create table svc.apps (
  id         uuid primary key,
  tenant_id  uuid not null references svc.tenants on delete cascade,
  slug       text not null check (slug ~ '^[a-z]([a-z0-9-]{0,61}[a-z0-9])$'),
  name       text not null,
  -- Exactly one representative owner, by construction.
  owner_id   uuid not null references svc.users,
  visibility text not null default 'private' check (visibility in ('private', 'invite_only', 'public', 'internet')),
  record     text not null default 'active' check (record in ('active', 'archived', 'deleted', 'purged')),
  created_at timestamptz not null,
  updated_at timestamptz not null,
  unique (tenant_id, slug)
);
create index apps_owner on svc.apps (tenant_id, owner_id);

create table svc.app_co_owners (
  app_id     uuid not null references svc.apps on delete cascade,
  user_id    uuid not null references svc.users on delete cascade,
  added_by   uuid not null,
  created_at timestamptz not null,
  primary key (app_id, user_id)
);
create index app_co_owners_user on svc.app_co_owners (user_id);

-- Physical names are ours (table `t_<id>`, columns `c<number>`), so that a rename changes this catalogue only, and a
-- name used again never meets what stood behind it before.
create table svc.app_tables (
  id              uuid primary key,
  tenant_id       uuid not null references svc.tenants on delete cascade,
  app_id          uuid not null references svc.apps on delete cascade,
  name            text not null,
  description     text not null default '',
  -- The number of the column that holds the row's owner.
  owner_column    int,
  -- Grows with every change of the shape.
  version         int not null default 1,
  -- The last column number given out; numbers are never used again.
  columns_made    int not null,
  -- Columns of the physical table since it was made or rebuilt: PostgreSQL's limit counts dropped ones as well.
  attributes_made int not null,
  created_by      uuid not null,
  created_at      timestamptz not null,
  updated_at      timestamptz not null,
  unique (app_id, name)
);

create table svc.app_table_columns (
  tenant_id    uuid not null references svc.tenants on delete cascade,
  table_id     uuid not null references svc.app_tables on delete cascade,
  number       int not null,
  name         text not null,
  type         text not null check (type in ('text', 'int', 'bigint', 'float', 'bool', 'timestamptz', 'uuid', 'jsonb')),
  nullable     boolean not null,
  default_text text,
  -- Kept through a rename. A declared created_at or updated_at is a plain column.
  role         text not null check (role in ('id', 'created_at', 'updated_at', 'plain')),
  primary key (table_id, number),
  unique (table_id, name)
);

create table svc.app_table_indexes (
  id         uuid primary key,
  tenant_id  uuid not null references svc.tenants on delete cascade,
  table_id   uuid not null references svc.app_tables on delete cascade,
  name       text not null,
  columns    int[] not null,
  is_unique  boolean not null,
  created_at timestamptz not null,
  unique (table_id, name)
);

create table svc.table_grants (
  id             uuid primary key,
  tenant_id      uuid not null references svc.tenants on delete cascade,
  app_id         uuid not null references svc.apps on delete cascade,
  table_id       uuid not null references svc.app_tables on delete cascade,
  principal_type text not null check (principal_type in ('user', 'app', 'role')),
  -- A user id, an app id or the name of a role.
  principal_id   text not null,
  actions        text[] not null,
  created_by     uuid not null,
  created_at     timestamptz not null,
  unique (table_id, principal_type, principal_id)
);
create index table_grants_principal on svc.table_grants (tenant_id, principal_type, principal_id);
