-- Servers that use this database, and what of them must be the same. A server renews its row while it runs.
create table svc.servers (
  host          text not null,
  data_dir      text not null,
  -- Servers that reach each other at 127.0.0.1 have the same.
  network       text not null,
  runtime       text not null,
  objects       text not null,
  repositories  text not null,
  started_at    timestamptz not null default now(),
  seen_at       timestamptz not null default now(),
  primary key (host, data_dir)
);
