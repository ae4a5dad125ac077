-- The schedules of the live deployment of each app.
create table svc.app_schedules (
  app_id          uuid not null references svc.apps on delete cascade,
  tenant_id       uuid not null references svc.tenants on delete cascade,
  name            text not null,
  cron            text not null,
  timezone        text not null,
  command         text,
  path            text,
  timeout_seconds int not null,
  -- Null: it never comes again.
  next_at         timestamptz,
  primary key (app_id, name)
);
create index app_schedules_next on svc.app_schedules (next_at);
