-- The ground: tenants and people, credentials, the audit chain, idempotency, the outbox.
-- Everything of the control plane lives in schema svc; the role that serves rows can not enter it.

create table svc.tenants (
  id                uuid primary key,
  slug              text not null unique check (slug ~ '^[a-z]([a-z0-9-]{0,61}[a-z0-9])$'),
  name              text not null,
  max_resource_tier text not null default 'L' check (max_resource_tier in ('XS', 'S', 'M', 'L', 'XL')),
  created_at        timestamptz not null
);

create table svc.users (
  id            uuid primary key,
  email         text not null,
  name          text not null,
  password_hash text,
  status        text not null default 'active' check (status in ('active', 'suspended')),
  created_at    timestamptz not null
);
create unique index users_email on svc.users (lower(email));

-- A sign-in at an outside provider belongs to a user by issuer and subject only, never by e-mail address.
create table svc.user_links (
  issuer     text not null,
  subject    text not null,
  user_id    uuid not null references svc.users on delete cascade,
  created_at timestamptz not null,
  primary key (issuer, subject)
);
create index user_links_user on svc.user_links (user_id);

create table svc.memberships (
  tenant_id  uuid not null references svc.tenants on delete cascade,
  user_id    uuid not null references svc.users on delete cascade,
  role       text not null check (role in ('tenant_member', 'tenant_admin')),
  created_at timestamptz not null,
  primary key (tenant_id, user_id)
);
create index memberships_user on svc.memberships (user_id);

-- What the OpenID provider keeps: sessions, tokens, codes. Ids are secrets, so only their SHA-256 is here.
create table svc.oauth_models (
  kind           text not null,
  id_hash        text not null,
  payload        jsonb not null,
  user_id        uuid references svc.users on delete cascade,
  client_id      text,
  grant_id       text,
  uid            text,
  user_code_hash text,
  created_at     timestamptz not null default now(),
  expires_at     timestamptz,
  consumed_at    timestamptz,
  primary key (kind, id_hash)
);
create index oauth_models_user on svc.oauth_models (user_id);
create index oauth_models_grant on svc.oauth_models (grant_id);
create index oauth_models_uid on svc.oauth_models (uid) where uid is not null;
create index oauth_models_user_code on svc.oauth_models (user_code_hash) where user_code_hash is not null;
create index oauth_models_expiry on svc.oauth_models (expires_at);

create table svc.pats (
  id           uuid primary key,
  tenant_id    uuid not null references svc.tenants on delete cascade,
  user_id      uuid not null references svc.users on delete cascade,
  name         text not null,
  secret_hash  text not null unique,
  hint         text not null,
  actions      text[] not null,
  apps         text[] not null,
  created_at   timestamptz not null,
  expires_at   timestamptz not null,
  revoked_at   timestamptz,
  last_used_at timestamptz
);
create index pats_owner on svc.pats (tenant_id, user_id);

-- Failed sign-ins in a window, per account and per address.
create table svc.login_attempts (
  key          text primary key,
  window_start timestamptz not null,
  failures     int not null
);

-- Keys that all copies of the server share: signing keys of the OpenID provider, cookie keys, the rows password.
create table if not exists svc.platform_keys (
  name       text primary key,
  value      text not null,
  created_at timestamptz not null default now()
);

-- One chain per tenant: each entry carries the hash of the one before. The nil tenant is the platform itself.
create table svc.audit_entries (
  tenant_id     uuid not null,
  seq           bigint not null,
  -- To the millisecond, which is what the hash covers.
  at            timestamptz(3) not null,
  actor_kind    text not null,
  actor_id      text not null,
  actor_name    text not null,
  action        text not null,
  target_kind   text not null,
  target_id     text not null,
  target_name   text not null,
  -- The app it belongs to, for those who may read an app's entries; empty for none.
  app_id        text not null default '',
  -- json, not jsonb: the hash is over this very text.
  changes       json not null,
  request_id    text not null,
  previous_hash text not null,
  hash          text not null,
  primary key (tenant_id, seq)
);
create index audit_entries_target on svc.audit_entries (tenant_id, target_id, seq);
create index audit_entries_app on svc.audit_entries (tenant_id, app_id, seq) where app_id <> '';

create table svc.audit_heads (
  tenant_id uuid primary key,
  seq       bigint not null,
  hash      text not null
);

create function svc.refuse_audit_edit() returns trigger language plpgsql as $$
begin
  raise exception 'audit entries are append-only';
end $$;
create trigger audit_append_only before update or delete or truncate on svc.audit_entries
  for each statement execute function svc.refuse_audit_edit();

create table svc.idempotency_keys (
  caller_id    text not null,
  key_hash     text not null,
  request_hash text not null,
  -- Sealed with a key derived from the client's own key: a dump of this table reveals no answer.
  answer       bytea not null,
  created_at   timestamptz not null default now(),
  primary key (caller_id, key_hash)
);
create index idempotency_keys_age on svc.idempotency_keys (created_at);

-- Effects outside the database, written with the change that causes them and carried out after it commits.
create table svc.outbox (
  id         uuid primary key,
  topic      text not null,
  payload    jsonb not null,
  created_at timestamptz not null,
  attempts   int not null default 0,
  done_at    timestamptz,
  last_error text
);
create index outbox_open on svc.outbox (created_at) where done_at is null;
