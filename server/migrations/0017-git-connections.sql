-- Accounts at the git host, and the repositories that apps are deployed from.

create table svc.git_links (
  id             uuid primary key,
  tenant_id      uuid not null references svc.tenants on delete cascade,
  user_id        uuid not null references svc.users on delete cascade,
  -- Which host: its address, so that a change of hosts brings no account along.
  host           text not null,
  account_id     bigint not null,
  login          text not null,
  kind           text not null check (kind in ('user', 'organization')),
  token_sealed   bytea not null,
  token_expires_at timestamptz,
  refresh_sealed bytea,
  refresh_expires_at timestamptz,
  linked_at      timestamptz not null,
  unique (tenant_id, user_id, host)
);

create table svc.git_connections (
  app_id          uuid primary key references svc.apps on delete cascade,
  tenant_id       uuid not null references svc.tenants on delete cascade,
  host            text not null,
  repo_id         bigint not null,
  -- As last seen; the id is what counts.
  repo            text not null,
  is_private      boolean not null,
  branch          text not null,
  installation_id bigint not null,
  web_url         text not null,
  clone_url       text not null,
  hook_state      text not null check (hook_state in ('waiting', 'ok', 'failed')),
  hook_id         bigint,
  hook_detail     text not null default '',
  connected_by    uuid not null,
  connected_at    timestamptz not null
);
create index git_connections_repo on svc.git_connections (host, repo_id);

-- Connections begun in a browser; a state counts once.
create table svc.git_connect_states (
  state_hash text primary key,
  tenant_id  uuid not null references svc.tenants on delete cascade,
  app_id     uuid not null references svc.apps on delete cascade,
  user_id    uuid not null references svc.users on delete cascade,
  repo       text,
  branch     text not null,
  expires_at timestamptz not null
);

-- What the git host told of, once per app; a delivery that comes again is known by its id.
create table svc.git_pushes (
  delivery_id   text not null,
  app_id        uuid not null references svc.apps on delete cascade,
  tenant_id     uuid not null references svc.tenants on delete cascade,
  branch        text not null,
  commit_sha    text not null,
  outcome       text not null,
  deployment_id uuid,
  received_at   timestamptz not null,
  primary key (app_id, delivery_id)
);
create index git_pushes_latest on svc.git_pushes (app_id, received_at desc);

-- Which commit of which repository a template is, and with whose account it may be read.
alter table svc.templates add column repo_ref text, add column added_by uuid;
