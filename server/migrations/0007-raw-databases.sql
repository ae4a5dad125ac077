-- PostgreSQL databases of apps' own. The row is what is wanted; an effect outside the transaction brings it about.

create table svc.raw_databases (
  app_id          uuid primary key references svc.apps on delete cascade,
  tenant_id       uuid not null references svc.tenants on delete cascade,
  -- Of the database and of its role alike. Made anew each time, so that what is late for an old one never meets a new one.
  database        text not null unique check (database ~ '^svc_raw_[0-9a-f]{32}$'),
  state           text not null check (state in ('creating', 'ready', 'dropping')),
  -- The app is deleted: its data are kept, and nobody is let in.
  is_closed       boolean not null default false,
  -- Sealed with a key of the platform: the app's environment needs it again.
  password_sealed bytea not null,
  connections_max int not null check (connections_max > 0),
  -- Where it is reached: a connection string without login and database.
  address         text not null,
  enabled_by      uuid not null,
  enabled_at      timestamptz not null
);
