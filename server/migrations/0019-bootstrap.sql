-- Runs that make an app from a template or from another app, step by step.

create table svc.bootstrap_runs (
  id            uuid primary key,
  tenant_id     uuid not null references svc.tenants on delete cascade,
  kind          text not null check (kind in ('bootstrap', 'fork')),
  state         text not null check (state in ('awaiting_approval', 'running', 'done', 'failed', 'canceled')),
  -- What was asked for; a run does not change its mind.
  input         jsonb not null,
  input_hash    text not null,
  slug          text not null,
  template_id   uuid,
  source_app_id uuid references svc.apps on delete set null,
  app_id        uuid references svc.apps on delete set null,
  failure_code  text,
  failure_detail text,
  cancel_asked  boolean not null default false,
  -- With the code that its approval was asked by; no more than its hash.
  device_code_hash text,
  approval_until timestamptz,
  -- The code was denied: a copy of the server ends the run.
  is_denied     boolean not null default false,
  lease_holder  uuid,
  lease_until   timestamptz,
  next_try_at   timestamptz,
  created_by    uuid not null references svc.users,
  created_at    timestamptz not null,
  ended_at      timestamptz
);
create index bootstrap_runs_open on svc.bootstrap_runs (created_at) where state in ('awaiting_approval', 'running');
create unique index bootstrap_runs_slug on svc.bootstrap_runs (tenant_id, slug) where state in ('awaiting_approval', 'running');

create table svc.bootstrap_steps (
  run_id     uuid not null references svc.bootstrap_runs on delete cascade,
  name       text not null check (name in ('authorize', 'reserve_app', 'create_repo', 'seed_repo', 'connect', 'first_deploy')),
  state      text not null check (state in ('waiting', 'running', 'done', 'failed')),
  attempts   int not null default 0,
  -- Of these, ended by something that passes; so many are forgiven.
  failures   int not null default 0,
  input_hash text,
  output     jsonb,
  detail     text not null default '',
  started_at timestamptz,
  ended_at   timestamptz,
  primary key (run_id, name)
);

-- What an app was made from.
alter table svc.apps
  add column template_id    uuid,
  add column forked_from_id uuid;
