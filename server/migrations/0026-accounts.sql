-- Waits after wrong passwords, origins that a user has signed in from, and one-time secrets of accounts.

alter table svc.login_attempts add column blocked_until timestamptz;

-- `browser:` and the hash of its cookie, or `address:` and the network.
create table svc.known_origins (
  user_id      uuid not null references svc.users (id) on delete cascade,
  origin       text not null,
  last_used_at timestamptz not null,
  primary key (user_id, origin)
);
create index known_origins_age on svc.known_origins (last_used_at);

-- Secrets that are used once, such as the link that resets a password; only their hashes are stored.
create table svc.account_tokens (
  purpose    text not null,
  hash       text not null,
  user_id    uuid references svc.users (id) on delete cascade,
  data       jsonb not null default '{}',
  expires_at timestamptz not null,
  primary key (purpose, hash)
);
create index account_tokens_user on svc.account_tokens (user_id, purpose);
create index account_tokens_expiry on svc.account_tokens (expires_at);

-- A user's list of sign-ins also shows the tokens that they created, in any tenant.
create index audit_entries_created_tokens on svc.audit_entries (actor_id, at) where action = 'pats.create';
