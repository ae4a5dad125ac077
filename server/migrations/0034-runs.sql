-- What runs once in the live build of an app: commands of people, and what schedules start.
create table svc.app_runs (
  id              uuid primary key,
  tenant_id       uuid not null references svc.tenants on delete cascade,
  app_id          uuid not null references svc.apps on delete cascade,
  deployment_id   uuid references svc.deployments on delete set null,
  -- Null: started by a person, and of no schedule.
  schedule        text,
  -- The time of the schedule that it is for. No time is taken twice, by whichever server.
  due_at          timestamptz,
  command         text,
  path            text,
  timeout_seconds int not null,
  state           text not null check (state in
    ('queued', 'running', 'succeeded', 'failed', 'canceled', 'missed', 'skipped')),
  exit_code       int,
  failure         text,
  cancel_asked    boolean not null default false,
  lease_holder    uuid,
  lease_until     timestamptz,
  created_by      uuid,
  created_at      timestamptz not null,
  started_at      timestamptz,
  ended_at        timestamptz,
  check ((command is null) <> (path is null)),
  unique (app_id, schedule, due_at)
);
create index app_runs_app on svc.app_runs (app_id, schedule, created_at);
create index app_runs_open on svc.app_runs (created_at) where ended_at is null;
create index app_runs_running on svc.app_runs (app_id) where state = 'running' and ended_at is null;
create index app_runs_ended on svc.app_runs (ended_at) where ended_at is not null;

-- Lines of a run have its id as `deployment_id`.
alter table svc.log_lines drop constraint log_lines_source_check;
alter table svc.log_lines add constraint log_lines_source_check check (source in ('build', 'app', 'run'));
