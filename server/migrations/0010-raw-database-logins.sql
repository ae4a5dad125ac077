-- Whether the database was there once, and who has seen its password.

alter table svc.raw_databases
  -- Once it was there it is never made again under its name: an empty one in its place would pass for it.
  add column is_made     boolean not null default false,
  add column password_at timestamptz not null default now(),
  -- With the first of them to stop being an owner the password changes.
  add column known_to    uuid[] not null default '{}';

update svc.raw_databases set is_made = (state = 'ready'), password_at = enabled_at, known_to = array[enabled_by];
