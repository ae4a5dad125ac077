-- Custom domains: hosts that people attach to apps. Many may wait for one host, one has it.

create table svc.domains (
  id              uuid primary key,
  app_id          uuid not null references svc.apps on delete cascade,
  tenant_id       uuid not null references svc.tenants on delete cascade,
  -- As DNS has it: ASCII, small letters, no dot behind it.
  host            text not null check (host = lower(host)),
  -- What is published in DNS to prove that the host is the app's; of this very claim and no other.
  token           text not null,
  status          text not null check (status in ('pending', 'active', 'disconnected')),
  -- How the last look-ups went, each with what was expected and what was found.
  ownership       jsonb not null,
  routing         jsonb not null,
  certificate     jsonb not null,
  created_by      uuid not null,
  created_at      timestamptz not null,
  -- The last time it became active.
  verified_at     timestamptz,
  last_checked_at timestamptz,
  -- Null: it is not looked at by itself.
  next_check_at   timestamptz,
  -- A copy of the server that looks at it has until then.
  checking_until  timestamptz,
  -- Of a pending one: since when, and how often it was looked at by the clock.
  pending_since   timestamptz not null,
  tries           int not null default 0,
  -- Of an active one: since when, and how often in a row, its own name servers have said that it is not right.
  wrong_since     timestamptz,
  wrong_checks    int not null default 0,
  disconnected_at timestamptz,
  -- Why, in a word; null while it is not disconnected.
  disconnected_for text,
  -- Another app has proved the host its own, and the tenant's audit does not say so yet.
  is_loss_untold  boolean not null default false,
  unique (app_id, host)
);
create unique index domains_active on svc.domains (host) where status = 'active';
create index domains_by_host on svc.domains (host);
create index domains_due on svc.domains (next_check_at) where next_check_at is not null;

-- CNAME records of custom domains lead to this host; an app that has it could not be told from the platform.
update svc.apps set subdomain = null where subdomain = 'edge';
