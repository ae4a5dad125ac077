-- Keys of the platform, with the generations that a rotation creates. `platform_keys` retains what is no key of the
-- platform: the database login for rows, the id of the installation, the seeded admin.
create table svc.key_generations (
  name       text not null,
  generation int not null check (generation > 0),
  -- JSON; encrypted if master_key has the id of the master key.
  value      text not null,
  master_key text,
  created_at timestamptz not null default now(),
  -- A new generation is known to all servers, and published, before it is used.
  active_at  timestamptz not null default now(),
  primary key (name, generation)
);

insert into svc.key_generations (name, generation, value, created_at, active_at)
select name, 1, value, created_at, created_at from svc.platform_keys
where name not in ('rows_role', 'rows_password', 'raw_db.installation', 'seeded_admin');

delete from svc.platform_keys
where name not in ('rows_role', 'rows_password', 'raw_db.installation', 'seeded_admin');

-- A sealed value starts with the generation of its key.
do $$
declare
  sealed record;
begin
  for sealed in
    select table_name, column_name from information_schema.columns
    where table_schema = 'svc' and column_name like '%\_sealed' and data_type = 'bytea'
  loop
    execute format('update svc.%1$I set %2$I = int4send(1) || %2$I where %2$I is not null',
      sealed.table_name, sealed.column_name);
  end loop;
end $$;
