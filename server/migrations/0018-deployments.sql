-- Deployments: their queue, what they built, where they run, what they say, and the environment of apps.

alter table svc.apps
  -- What answers for the app; of `static` ones its site does.
  add column live_deployment_id uuid,
  add column deployments_made   int not null default 0,
  -- A number of its own, for what the machine needs numbers for: the user that its processes run as. From its first build on.
  add column runtime_number     int unique;
create sequence svc.app_runtime_numbers as int;

create table svc.deployments (
  id             uuid primary key,
  tenant_id      uuid not null references svc.tenants on delete cascade,
  app_id         uuid not null references svc.apps on delete cascade,
  seq            int not null,
  kind           text not null check (kind in ('deploy', 'rollback', 'resume')),
  trigger        text not null check (trigger in ('person', 'push', 'bootstrap', 'resume')),
  state          text not null check (state in
    ('queued', 'building', 'built', 'releasing', 'live', 'superseded', 'failed', 'canceled', 'skipped')),
  step           text,
  method         text not null check (method in ('docker', 'compose', 'static')),
  source         text not null check (source in ('repository', 'upload', 'artifact')),
  repo           text,
  ref            text,
  commit_sha     text,
  commit_message text,
  upload_id      uuid,
  -- What was built, as the runtime that built it names it, and how it is started.
  runtime        text,
  artifact       jsonb,
  start_with     jsonb,
  digest         text,
  is_kept        boolean not null default false,
  rollback_of    uuid references svc.deployments on delete set null,
  release_id     uuid,
  -- The variables of the app as they were; sealed.
  env_sealed     bytea,
  failure_code   text,
  failure_step   text,
  failure_detail text,
  -- Asked to stop; the copy that works on it sees to it.
  cancel_asked   boolean not null default false,
  attempts       int not null default 0,
  lease_holder   uuid,
  lease_until    timestamptz,
  created_by     uuid,
  created_at     timestamptz not null,
  started_at     timestamptz,
  built_at       timestamptz,
  live_at        timestamptz,
  ended_at       timestamptz,
  unique (app_id, seq)
);
-- One at a time is worked on for an app. One that is built and ended waits for a review of its release.
create unique index deployments_under_way on svc.deployments (app_id)
  where state in ('building', 'built', 'releasing') and ended_at is null;
create unique index deployments_live on svc.deployments (app_id) where state = 'live';
create index deployments_open on svc.deployments (created_at)
  where state in ('queued', 'building', 'built', 'releasing') and ended_at is null;
create index deployments_release on svc.deployments (app_id, release_id) where release_id is not null;
alter table svc.apps add foreign key (live_deployment_id) references svc.deployments on delete set null;

-- Of a static app: which deployment has made the release, so that one that begins again makes no second.
alter table svc.static_releases add column deployment_id uuid unique;

create table svc.deployment_uploads (
  id         uuid primary key,
  tenant_id  uuid not null references svc.tenants on delete cascade,
  app_id     uuid not null references svc.apps on delete cascade,
  created_by uuid not null,
  bytes      bigint,
  sha256     text,
  arrived_at timestamptz,
  expires_at timestamptz not null
);

-- Where a deployment runs: what the edge leads to. A place that is not confirmed any more is not used.
create table svc.app_instances (
  id            uuid primary key,
  tenant_id     uuid not null references svc.tenants on delete cascade,
  app_id        uuid not null references svc.apps on delete cascade,
  deployment_id uuid not null references svc.deployments on delete cascade,
  -- Which copy of the server, or which engine, it runs at.
  node          text not null,
  -- As the runtime names it.
  handle        jsonb,
  address       text,
  state         text not null check (state in ('starting', 'ready', 'draining')),
  started_at    timestamptz not null,
  confirmed_at  timestamptz not null,
  -- From when on it gets no new requests.
  draining_at   timestamptz,
  restarts      int not null default 0,
  -- Processor time that is counted already, and by a look of when: no two copies of the server count the same.
  cpu_ms        bigint not null default 0,
  sampled_at    timestamptz
);
create index app_instances_app on svc.app_instances (app_id);

create table svc.log_lines (
  id            bigint generated always as identity primary key,
  app_id        uuid not null references svc.apps on delete cascade,
  deployment_id uuid not null,
  source        text not null check (source in ('build', 'app')),
  stream        text not null check (stream in ('stdout', 'stderr', 'platform')),
  at            timestamptz not null,
  text          text not null
);
create index log_lines_deployment on svc.log_lines (deployment_id, source, id);
create index log_lines_app on svc.log_lines (app_id, source, id);

create table svc.app_env (
  app_id       uuid not null references svc.apps on delete cascade,
  tenant_id    uuid not null references svc.tenants on delete cascade,
  name         text not null,
  value_sealed bytea not null,
  updated_by   uuid not null,
  updated_at   timestamptz not null,
  primary key (app_id, name)
);

-- Requests to apps and what they use, by the minute; copies of the server add to the same row.
create table svc.app_metrics (
  app_id       uuid not null references svc.apps on delete cascade,
  minute       timestamptz not null,
  requests     bigint not null default 0,
  -- 2xx, 3xx, 4xx, 5xx
  by_status    bigint[] not null default '{0,0,0,0}',
  -- Of the contract's bounds, and one for what is above.
  latency      bigint[] not null default '{}',
  bytes_out    bigint not null default 0,
  cpu_ms       bigint not null default 0,
  memory_bytes bigint not null default 0,
  primary key (app_id, minute)
);
create index app_metrics_minute on svc.app_metrics (minute);
