-- What an app may have in its own database. Names need quoting, and definitions need each other in an order that is not alphabetical.
create extension pg_trgm;
create schema ext;
create extension unaccent with schema ext;
create schema "Odd ""schema";
comment on schema "Odd ""schema" is 'It''s odd';

create type mood as enum ('sad', 'ok', 'happy''s');
alter type mood add value 'new' before 'ok';
-- next transaction
create type money_of as (amount numeric(12, 2), currency char(3), note text collate "C");
create collation numeric_order (provider = icu, locale = 'en-u-kn-true', deterministic = false);
create function is_code(text) returns boolean language sql immutable as $$ select $1 ~ '^[A-Z]{2,4}$' $$;
create domain code as text collate "C" default 'XX' not null constraint is_code check (public.is_code(value));
create type price_range as range (subtype = numeric, multirange_type_name = price_ranges);

create function add_up(state numeric, next numeric) returns numeric language sql immutable as $$ select state + coalesce(next, 0) $$;
create aggregate total(numeric) (sfunc = add_up, stype = numeric, initcond = '0', combinefunc = numeric_add, parallel = safe);
create function same_text(a text, b text) returns boolean language sql immutable as $$ select lower(a) = lower(b) $$;
create operator === (function = same_text, leftarg = text, rightarg = text, commutator = ===, restrict = eqsel, join = eqjoinsel);
create function money_text(money_of) returns text language sql immutable as $$ select $1.amount || ' ' || $1.currency $$;
create cast (money_of as text) with function money_text(money_of) as assignment;
create text search dictionary plain_words (template = pg_catalog.simple, stopwords = english);
create text search configuration web (copy = english);
alter text search configuration web alter mapping for hword, hword_part, word with ext.unaccent, plain_words, english_stem;

create sequence order_numbers as int increment by 10 minvalue -5 maxvalue 100000 start with 20 cycle;
create table "Odd ""schema"."People" (
  id int generated always as identity (start with 7 increment by 3),
  "E-Mail" text not null,
  name text collate numeric_order,
  feels mood default 'ok',
  tags text[] not null default '{}',
  born date check (born > '1800-01-01'),
  label text generated always as (coalesce(name, '') || ' <' || "E-Mail" || '>') stored,
  doc jsonb default '{"a": [1, 2]}',
  raw bytea,
  constraint "People pk" primary key (id) include (name),
  constraint one_mail unique nulls not distinct ("E-Mail") deferrable initially deferred
) with (fillfactor = 70, autovacuum_enabled = false);
alter table "Odd ""schema"."People" alter column doc set storage external, alter column tags set statistics 500,
  alter column name set (n_distinct = -0.5);
comment on table "Odd ""schema"."People" is E'tab\tand ''quote''';
comment on column "Odd ""schema"."People"."E-Mail" is 'mail';
comment on constraint one_mail on "Odd ""schema"."People" is 'one';

create table orders (
  id bigserial primary key,
  number int not null default nextval('order_numbers'),
  person int references "Odd ""schema"."People" (id) on delete cascade on update set null,
  previous bigint references orders deferrable,
  price money_of,
  region code,
  during tstzrange,
  room int,
  at timestamptz default now(),
  uuid uuid default gen_random_uuid(),
  old_column text,
  constraint no_overlap exclude using gist (during with &&) where (room = 1)
);
alter table orders drop column old_column;
alter table orders replica identity full;
create unlogged table scratch (id int, note text);
create index orders_trgm on orders using gin (((price).note) gin_trgm_ops);
create unique index orders_number on orders (number desc nulls last) where number > 100;
create index "by web" on "Odd ""schema"."People" using gin (to_tsvector('web', coalesce(name, '')));
alter table orders cluster on orders_pkey;
create statistics order_stats (dependencies, ndistinct) on number, room from orders;

create table events (id int not null, at date not null, kind text default 'x', constraint sane check (id >= 0)) partition by range (at);
create table events_2025 partition of events for values from ('2025-01-01') to ('2026-01-01');
create table events_2026 (kind text default 'late', at date not null, id int not null, constraint sane check (id >= 0));
alter table events attach partition events_2026 for values from ('2026-01-01') to ('2027-01-01');
create table events_rest partition of events default partition by hash (id);
create table events_rest_0 partition of events_rest for values with (modulus 2, remainder 0);
create table events_rest_1 partition of events_rest for values with (modulus 2, remainder 1);
alter table events add primary key (id, at);
create index events_kind on events (kind);
create table animals (id serial, name text not null, constraint named check (name <> ''));
create table cats (lives int default 9, constraint lives check (lives > 0)) inherits (animals);
alter table cats alter column name set default 'Tom';
create table typed of money_of;

create view people_orders with (security_barrier = true) as
  select p.id, p.label, total((o.price).amount) as sum, array_agg(o.id order by o.id) filter (where o.id is not null) as ids
  from "Odd ""schema"."People" p left join orders o on o.person = p.id group by p.id;
create view editable as select id, number from orders where number > 0 with cascaded check option;
alter view editable alter column number set default 77;
create materialized view order_counts as select region, count(*) from orders group by region;
create unique index on order_counts (region);
create materialized view counts_of_counts as select sum(count) from order_counts;
create materialized view never as select 1 as one with no data;
create recursive view numbers (n) as values (1) union all select n + 1 from numbers where n < 5;

create function orders_of(person int) returns setof orders language sql stable begin atomic select o.* from orders o where o.person = $1; end;
create function touch() returns trigger language plpgsql security definer set search_path = public as $$
begin new.at := coalesce(new.at, now()); return new; end $$;
create procedure tidy(inout n int default 3) language plpgsql as $$ begin delete from scratch where id > n; end $$;
create function many(variadic parts text[], out a int, out b text) language sql as $$ select 1, array_to_string(parts, ',') $$;
comment on function many(text[]) is 'many';
create trigger touched before insert or update of room on orders for each row when (new.room is not null) execute function touch();
create trigger switched_off after delete on orders referencing old table as gone for each statement execute function touch();
alter table orders disable trigger switched_off;
create constraint trigger checked after insert on events deferrable initially deferred for each row execute function touch();
create rule no_delete as on delete to scratch do instead nothing;
create rule log_update as on update to scratch do also notify scratch_changed;

alter table orders enable row level security;
create policy all_of_them on orders using (true);
create policy small on orders as restrictive for insert to current_user with check (number < 1000000);
alter table animals enable row level security;
alter table animals force row level security;
create policy none on animals for select using (name <> 'hidden');
create policy born on animals for insert with check (true);
grant select on people_orders to public;
grant select (id, number), update (number) on orders to public;
revoke execute on function is_code(text) from public;
revoke delete on scratch from current_user;
alter default privileges in schema public grant select on tables to public;
alter default privileges revoke execute on functions from public;
alter role current_user set search_path = "$user", public, "Odd ""schema";
alter role current_user set work_mem = '8MB';

insert into "Odd ""schema"."People" ("E-Mail", name, feels, tags, born, doc, raw)
  select 'p' || n || '@example.test', case n % 3 when 0 then null else E'Nam\té \\N ' || n end, (enum_range(null::mood))[1 + n % 4],
    array['a,b', '"', null, n::text], '2000-01-01'::date + n, jsonb_build_object('n', n, 'text', repeat('ü', n % 50)), decode(lpad(to_hex(n), 8, '0'), 'hex')
  from generate_series(1, 500) n;
insert into orders (person, previous, price, region, during, room)
  select 7 + 3 * (n % 500), nullif(n - 1, 0), row(n * 1.5, 'EUR', 'note ' || n)::money_of, case n % 2 when 0 then 'DE' else 'FRA' end,
    tstzrange('2026-01-01'::timestamptz + n * interval '1 hour', '2026-01-01'::timestamptz + n * interval '1 hour' + interval '30 minutes'), n % 2
  from generate_series(1, 3000) n;
alter table orders disable row level security;
insert into events select n, '2024-06-01'::date + n, 'k' || n % 7 from generate_series(1, 900) n;
insert into animals (name) values ('hidden'), ('seen');
insert into cats (lives) values (3), (7);
insert into typed values (1.25, 'USD', null);
insert into scratch select n, repeat('x', n) from generate_series(1, 50) n;
alter table orders enable row level security;
-- Some rows do not fulfil it.
alter table orders add constraint late check (number > 20) not valid;
refresh materialized view order_counts;
refresh materialized view counts_of_counts;
select lo_from_bytea(4242, decode(repeat('00ff10', 500000), 'hex'));
select lo_create(4243);
select nextval('order_numbers');
