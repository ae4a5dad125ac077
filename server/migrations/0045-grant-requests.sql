-- Who decides requests for access to a connector, and for how long. 0: no longest time.
alter table svc.connectors
  add column owners uuid[] not null default '{}',
  add column max_duration_seconds int not null default 0 check (max_duration_seconds >= 0),
  add column auto_approve boolean not null default false;
create index connectors_owners on svc.connectors using gin (owners);

-- Requests of members for access. They keep the ids of a connector or a preset that is deleted later, as grants do.
create table svc.grant_requests (
  id                   uuid primary key,
  tenant_id            uuid not null references svc.tenants on delete cascade,
  connector_id         uuid not null,
  preset_id            text not null,
  scope_resource_paths text[] not null check (cardinality(scope_resource_paths) <= 200),
  duration_seconds     int not null check (duration_seconds > 0),
  reason               text not null,
  status               text not null check (status in ('pending', 'approved', 'rejected', 'withdrawn', 'expired')),
  requested_by         uuid not null references svc.users,
  requested_at         timestamptz not null,
  expires_at           timestamptz not null,
  decided_by           uuid references svc.users,
  decided_at           timestamptz,
  decision_reason      text not null default '',
  grant_id             uuid references svc.grants,
  -- When the requester is reminded that the grant ends; null once that is done.
  remind_at            timestamptz
);
create index grant_requests_tenant on svc.grant_requests (tenant_id, requested_at desc, id desc);
create index grant_requests_pending on svc.grant_requests (expires_at) where status = 'pending';
create index grant_requests_remind on svc.grant_requests (remind_at) where remind_at is not null;
create index grant_requests_grant on svc.grant_requests (grant_id) where grant_id is not null;
create index grant_requests_requester on svc.grant_requests (requested_by);

-- One row for each read of governed data; never the values. No foreign keys: entries outlive what they name, and the
-- writes are on the way of every read.
create table svc.access_log (
  id             bigint generated always as identity primary key,
  tenant_id      uuid not null,
  at             timestamptz not null,
  actor_kind     text not null check (actor_kind in ('user', 'app', 'service_account')),
  actor_id       uuid not null,
  actor_name     text not null,
  through_app_id uuid,
  connector_id   uuid,
  app_id         uuid,
  resource_path  text not null,
  action         text not null,
  columns        text[] not null,
  masked_columns text[] not null,
  rows           bigint not null,
  grant_ids      text[] not null,
  policy_ids     text[] not null,
  request_id     text not null
);
create index access_log_tenant on svc.access_log (tenant_id, at desc, id desc);
create index access_log_actor on svc.access_log (tenant_id, actor_id, at desc, id desc);
create index access_log_connector on svc.access_log (tenant_id, connector_id, at desc, id desc)
  where connector_id is not null;
create index access_log_at on svc.access_log using brin (at);
