-- Who may do what with the rows of an app's table, the roles that an app gives to people, and policies for everybody.

alter table svc.app_tables add column rules jsonb;
-- Existing tables keep what they allowed.
update svc.app_tables set rules = case
  when owner_column is null then '{"read":["any"],"insert":["any"],"update":["any"],"delete":["any"],"columns":{}}'::jsonb
  else '{"read":["own","app"],"insert":["own","app"],"update":["own","app"],"delete":["own","app"],"columns":{}}'::jsonb
end;
alter table svc.app_tables alter column rules set not null;

create table svc.app_roles (
  tenant_id  uuid not null references svc.tenants on delete cascade,
  app_id     uuid not null references svc.apps on delete cascade,
  role       text not null check (role ~ '^[a-z][a-z0-9_-]{0,62}$'),
  user_id    uuid not null references svc.users on delete cascade,
  created_by uuid not null,
  created_at timestamptz not null,
  primary key (app_id, role, user_id)
);
create index app_roles_user on svc.app_roles (tenant_id, user_id);

alter table svc.access_policies add column enforced boolean not null default false;
