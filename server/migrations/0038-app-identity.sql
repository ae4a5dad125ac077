-- Service accounts of an app, the issuers that they trust, and the tokens with which programs act for an app.

create table svc.service_accounts (
  id         uuid primary key,
  tenant_id  uuid not null references svc.tenants on delete cascade,
  app_id     uuid not null references svc.apps on delete cascade,
  name       text not null check (name ~ '^[a-z]([a-z0-9-]{0,61}[a-z0-9])$'),
  actions    text[] not null check (cardinality(actions) > 0 and actions <@ array['rows', 'tables', 'storage', 'deploy']),
  created_by uuid not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  unique (app_id, name)
);
create index service_accounts_tenant on svc.service_accounts (tenant_id);

create table svc.trust_rules (
  id         uuid primary key,
  account_id uuid not null references svc.service_accounts on delete cascade,
  issuer     text not null,
  audience   text not null,
  claims     jsonb not null,
  created_at timestamptz not null
);
create index trust_rules_account on svc.trust_rules (account_id);

create table svc.app_tokens (
  id           uuid primary key,
  tenant_id    uuid not null references svc.tenants on delete cascade,
  app_id       uuid not null references svc.apps on delete cascade,
  -- `renewal` is only good for the next token of kind `app`.
  kind         text not null check (kind in ('created', 'exchanged', 'app', 'renewal')),
  account_id   uuid references svc.service_accounts on delete cascade,
  rule_id      uuid references svc.trust_rules on delete cascade,
  -- The tokens of an instance end with it.
  instance_id  uuid references svc.app_instances on delete cascade,
  name         text not null,
  secret_hash  text not null unique check (secret_hash ~ '^[0-9a-f]{64}$'),
  hint         text not null,
  created_at   timestamptz not null,
  expires_at   timestamptz,
  last_used_at timestamptz,
  check ((account_id is not null) = (kind in ('created', 'exchanged'))),
  check (expires_at is not null or kind = 'renewal')
);
create index app_tokens_app on svc.app_tokens (app_id);
create index app_tokens_account on svc.app_tokens (account_id);
create index app_tokens_rule on svc.app_tokens (rule_id);
create index app_tokens_instance on svc.app_tokens (instance_id);
create index app_tokens_expiry on svc.app_tokens (expires_at);

-- A token ends when its row is deleted, also by a cascade: every server process drops it from its cache.
create function svc.forget_app_token() returns trigger language plpgsql as $$
begin
  perform pg_notify('svc_changed', 'credential:' || old.secret_hash);
  return null;
end
$$;
create trigger app_tokens_forget after delete on svc.app_tokens
  for each row execute function svc.forget_app_token();
