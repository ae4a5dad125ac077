-- The built-in git host: what of it is not in the repositories themselves. It speaks as others do, so its ids are numbers.

create table svc.git_host_repos (
  id             bigint generated always as identity primary key,
  -- Owners are tenants, by their slugs.
  tenant_id      uuid not null references svc.tenants on delete cascade,
  name           text not null,
  -- The folder of the repository: a name of ours, never one that people gave.
  folder         uuid not null unique,
  is_private     boolean not null,
  description    text not null default '',
  default_branch text not null default 'main',
  -- Null: the app of the git host itself.
  created_by     uuid references svc.users,
  created_at     timestamptz not null,
  pushed_at      timestamptz,
  -- As hooks were last told of them: what differs from the repository is still to be told.
  refs           jsonb not null default '{}',
  -- Set while a push is under way: one that a crash left behind is looked at again.
  push_begun_at  timestamptz
);
create unique index git_host_repos_name on svc.git_host_repos (tenant_id, lower(name));
create index git_host_repos_pushing on svc.git_host_repos (push_begun_at) where push_begun_at is not null;

create table svc.git_host_hooks (
  id         bigint generated always as identity primary key,
  repo_id    bigint not null references svc.git_host_repos on delete cascade,
  url        text not null,
  -- Needed again as it is, to sign with; null: unsigned.
  secret_sealed bytea,
  content_type text not null check (content_type in ('json', 'form')),
  events     text[] not null,
  is_active  boolean not null default true,
  created_at timestamptz not null,
  unique (repo_id, url)
);

-- What is still to be told to whom; told at least once, the newest last.
create table svc.git_host_deliveries (
  id           uuid primary key,
  hook_id      bigint not null references svc.git_host_hooks on delete cascade,
  event        text not null,
  payload      text not null,
  attempts     int not null default 0,
  status       int,
  next_try_at  timestamptz,
  delivered_at timestamptz,
  created_at   timestamptz not null
);
create index git_host_deliveries_due on svc.git_host_deliveries (next_try_at) where next_try_at is not null;

-- The app of the git host is installed for each tenant from the beginning.
create table svc.git_host_installations (
  id         bigint generated always as identity primary key,
  tenant_id  uuid not null unique references svc.tenants on delete cascade,
  created_at timestamptz not null default now()
);
insert into svc.git_host_installations (tenant_id) select id from svc.tenants;

-- With the tenant, and not when first asked for: asking writes nothing.
create function svc.install_git_host() returns trigger language plpgsql as $$
begin
  insert into svc.git_host_installations (tenant_id) values (new.id);
  return null;
end $$;
create trigger tenants_git_host after insert on svc.tenants
  for each row execute function svc.install_git_host();

-- Accounts at the host have numbers too, those of people far above those of tenants.
create table svc.git_host_users (
  id      bigint generated always as identity (start with 1000000001) primary key,
  user_id uuid not null unique references svc.users on delete cascade,
  login   text not null unique
);

create table svc.git_host_device_codes (
  code_hash    text primary key,
  user_code_hash text not null unique,
  client_id    text not null,
  -- Shown to who is asked to approve it.
  asked_by     text not null,
  asked_from   text not null,
  interval_seconds int not null,
  last_poll_at timestamptz,
  approved_by  uuid references svc.users on delete cascade,
  denied_at    timestamptz,
  redeemed_at  timestamptz,
  expires_at   timestamptz not null,
  created_at   timestamptz not null
);

-- What device flows gave. The platform's own tokens are signed and short, and kept nowhere.
create table svc.git_host_tokens (
  token_hash text primary key,
  kind       text not null check (kind in ('user', 'refresh')),
  user_id    uuid not null references svc.users on delete cascade,
  expires_at timestamptz not null,
  created_at timestamptz not null
);
create index git_host_tokens_user on svc.git_host_tokens (user_id);
create index git_host_tokens_expiry on svc.git_host_tokens (expires_at);
