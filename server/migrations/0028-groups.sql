-- Groups of a tenant's members, and what a directory (SCIM) manages: people, groups, its tokens.

create table svc.groups (
  id           uuid primary key,
  tenant_id    uuid not null references svc.tenants on delete cascade,
  name         text not null check (name ~ '^[a-z]([a-z0-9-]{0,61}[a-z0-9])$'),
  display_name text not null,
  description  text not null default '',
  -- Only local groups are edited by hand; the others follow an OpenID claim or a directory.
  source       text not null check (source in ('local', 'claim', 'scim')),
  -- The value of the claim, or the directory's own id.
  external_id  text,
  created_at   timestamptz not null,
  updated_at   timestamptz not null,
  unique (tenant_id, name),
  unique (tenant_id, id)
);
create unique index groups_claim on svc.groups (tenant_id, external_id) where source = 'claim';
create unique index groups_scim on svc.groups (tenant_id, lower(display_name)) where source = 'scim';

-- A member who leaves the tenant leaves its groups.
create table svc.group_members (
  tenant_id  uuid not null,
  group_id   uuid not null,
  user_id    uuid not null,
  created_at timestamptz not null,
  primary key (group_id, user_id),
  foreign key (tenant_id, group_id) references svc.groups (tenant_id, id) on delete cascade,
  foreign key (tenant_id, user_id) references svc.memberships on delete cascade
);
create index group_members_user on svc.group_members (tenant_id, user_id);

alter table svc.memberships add column deactivated_at timestamptz;
-- The tenant whose directory created the user.
alter table svc.users add column provisioned_by uuid references svc.tenants on delete set null;

-- What a directory says about a member.
create table svc.scim_users (
  tenant_id   uuid not null,
  user_id     uuid not null,
  user_name   text not null,
  external_id text,
  attributes  jsonb not null,
  updated_at  timestamptz not null,
  primary key (tenant_id, user_id),
  foreign key (tenant_id, user_id) references svc.memberships on delete cascade
);
create unique index scim_users_name on svc.scim_users (tenant_id, lower(user_name));
create index scim_users_external on svc.scim_users (external_id);

create table svc.scim_tokens (
  id           uuid primary key,
  tenant_id    uuid not null references svc.tenants on delete cascade,
  name         text not null,
  secret_hash  text not null unique check (secret_hash ~ '^[0-9a-f]{64}$'),
  hint         text not null,
  created_at   timestamptz not null,
  last_used_at timestamptz,
  revoked_at   timestamptz
);
create index scim_tokens_tenant on svc.scim_tokens (tenant_id);

create table svc.app_member_groups (
  app_id     uuid not null references svc.apps on delete cascade,
  group_id   uuid not null references svc.groups on delete cascade,
  added_by   uuid not null,
  created_at timestamptz not null,
  primary key (app_id, group_id)
);
create index app_member_groups_group on svc.app_member_groups (group_id);

alter table svc.table_grants drop constraint table_grants_principal_type_check,
  add check (principal_type in ('user', 'app', 'role', 'group'));
