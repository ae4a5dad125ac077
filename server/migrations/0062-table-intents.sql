-- Changes of tables that are committed here and not yet, or not surely, in the second database that has the tables
-- (SVC_DATA_DATABASE_URL). Without references: the app of a change may be gone.
create table svc.table_intents (
  id         uuid primary key,
  tenant_id  uuid not null,
  app_ids    uuid[] not null,
  -- Of the second database: after a restore it has another one.
  epoch      text not null,
  -- What the second database has to do, in order.
  statements jsonb not null,
  -- The tables whose definitions the change touches, and the definitions before it.
  table_ids  uuid[] not null,
  before     jsonb not null,
  created_at timestamptz not null default clock_timestamp(),
  -- Rows did not allow the change: kept for a while, for the server that waits for it.
  undone_at  timestamptz,
  attempts   int not null default 0,
  last_error text
);
