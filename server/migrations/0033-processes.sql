-- An app runs several processes, each as one or more instances.
alter table svc.app_instances
  add column process text not null default 'web',
  add column index int not null default 1,
  -- Of the last sample.
  add column memory_bytes bigint;
-- An app has one; a second row would be of a server process that stopped responding.
delete from svc.app_instances one using svc.app_instances other
  where one.deployment_id = other.deployment_id and one.id < other.id
    and one.state <> 'draining' and other.state <> 'draining';
-- Two server processes never start the same instance.
create unique index app_instances_slot on svc.app_instances (deployment_id, process, index) where state <> 'draining';

-- What `svc apps scale` has set; without a row, svc.yaml or its default counts.
create table svc.app_scales (
  app_id    uuid not null references svc.apps on delete cascade,
  tenant_id uuid not null references svc.tenants on delete cascade,
  process   text not null,
  instances int not null check (instances between 0 and 10),
  primary key (app_id, process)
);

-- Of apps that may sleep.
create table svc.app_activity (
  app_id         uuid primary key references svc.apps on delete cascade,
  -- Server processes write it at most once a minute.
  last_active_at timestamptz not null,
  asleep_since   timestamptz
);

-- Null: the build, or the process `web` of a line from before this column.
alter table svc.log_lines add column process text;

alter table svc.app_metrics add column process text not null default 'web';
alter table svc.app_metrics drop constraint app_metrics_pkey;
alter table svc.app_metrics add primary key (app_id, process, minute);
