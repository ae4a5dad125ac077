-- Passkeys, authenticator apps and recovery codes of local accounts; where a session comes from.

create table svc.passkeys (
  id            uuid primary key,
  user_id       uuid not null references svc.users (id) on delete cascade,
  -- As the authenticator names it, base64url.
  credential_id text not null unique,
  public_key    bytea not null,
  counter       bigint not null,
  transports    text[] not null,
  name          text not null,
  created_at    timestamptz not null,
  last_used_at  timestamptz
);
create index passkeys_user on svc.passkeys (user_id);

create table svc.authenticator_apps (
  id            uuid primary key,
  user_id       uuid not null unique references svc.users (id) on delete cascade,
  secret_sealed bytea not null,
  -- Of the last code that was accepted: a code works once.
  last_step     bigint not null,
  name          text not null,
  created_at    timestamptz not null,
  last_used_at  timestamptz
);

create table svc.recovery_codes (
  user_id   uuid not null references svc.users (id) on delete cascade,
  code_hash text not null,
  primary key (user_id, code_hash)
);

alter table svc.tenants add column require_second_factor boolean not null default false;

alter table svc.oauth_models add column address text;
alter table svc.oauth_models add column device text;
