-- Equal reads of about half a second are one row: its own read is the last one, and these are the others, newest first.
alter table svc.access_log
  add column earlier_at timestamptz[] not null default '{}',
  add column earlier_rows bigint[] not null default '{}',
  add column earlier_request_ids text[] not null default '{}';
