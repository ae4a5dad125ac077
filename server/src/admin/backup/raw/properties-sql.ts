/** Properties of objects that exist: each query lists statements, in any order. `search_path` must be pg_catalog. */

const isOurs = (schema: string) => `${schema} !~ '^pg_' and ${schema} <> 'information_schema'`;
const isOfExtension = (catalog: string, oid: string) =>
  `exists (select from pg_depend x where x.classid = '${catalog}'::regclass and x.objid = ${oid} and x.deptype = 'e')`;
const ours = (from: string, namespace: string) =>
  `from ${from} join pg_namespace n on n.oid = ${namespace} and ${isOurs('n.nspname')}`;

export const propertiesSql: readonly string[] = [
  `select format('alter sequence %s owned by %s.%I', c.oid::regclass, d.refobjid::regclass, a.attname) as sql
   ${ours('pg_class c', 'c.relnamespace')}
     join pg_depend d on d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'a'
     join pg_attribute a on d.refclassid = 'pg_class'::regclass and a.attrelid = d.refobjid and a.attnum = d.refobjsubid
   where c.relkind = 'S'`,
  `select format('alter table %s of %s', c.oid::regclass, c.reloftype::regtype) as sql
   ${ours('pg_class c', 'c.relnamespace')} where c.reloftype <> 0`,
  `select format('alter table only %s alter column %I set storage %s', c.oid::regclass, a.attname,
     case a.attstorage when 'p' then 'plain' when 'e' then 'external' when 'm' then 'main' else 'extended' end) as sql
   ${ours('pg_class c', 'c.relnamespace')} join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
     join pg_type t on t.oid = a.atttypid
   where c.relkind in ('r', 'p', 'm') and a.attstorage <> t.typstorage`,
  `select format('alter table only %s alter column %I set compression %s', c.oid::regclass, a.attname,
     case a.attcompression when 'l' then 'lz4' else 'pglz' end) as sql
   ${ours('pg_class c', 'c.relnamespace')} join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
   where c.relkind in ('r', 'p', 'm') and a.attcompression <> ''`,
  // Versions of PostgreSQL have internal options besides.
  `select format('alter table only %s alter column %I set (%s)', c.oid::regclass, a.attname, o.options) as sql
   ${ours('pg_class c', 'c.relnamespace')} join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
     cross join lateral (select string_agg(option, ', ') as options from unnest(a.attoptions) option where option ~ '^n_distinct') o
   where c.relkind in ('r', 'p', 'm') and o.options is not null`,
  `select format('alter table only %s alter column %I set statistics %s', c.oid::regclass, a.attname, a.attstattarget) as sql
   ${ours('pg_class c', 'c.relnamespace')} join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
   where c.relkind in ('r', 'p', 'm') and a.attstattarget >= 0`,
  `select format('alter index %s set (%s)', c.oid::regclass, array_to_string(c.reloptions, ', ')) as sql
   ${ours('pg_class c', 'c.relnamespace')} join pg_constraint k on k.conindid = c.oid and k.contype in ('p', 'u', 'x')
   where c.reloptions is not null`,
  `select format('alter table %s cluster on %I', i.indrelid::regclass, c.relname) as sql
   ${ours('pg_class c', 'c.relnamespace')} join pg_index i on i.indexrelid = c.oid where i.indisclustered`,
  `select format('alter table only %s replica identity %s', c.oid::regclass, case c.relreplident when 'n' then 'nothing'
     when 'f' then 'full' else 'using index ' || quote_ident(x.relname) end) as sql
   ${ours('pg_class c', 'c.relnamespace')} left join pg_index i on i.indrelid = c.oid and i.indisreplident
     left join pg_class x on x.oid = i.indexrelid
   where c.relkind in ('r', 'p') and c.relreplident <> 'd' and (c.relreplident <> 'i' or x.oid is not null)`,
];

export const refreshSql = `
  select c.oid::int8 as id, format('refresh materialized view %s', c.oid::regclass) as sql
  ${ours('pg_class c', 'c.relnamespace')} where c.relkind = 'm' and c.relispopulated`;

/** `pg_identify_object` names kinds of objects almost as COMMENT ON does. */
export const commentsSql = `
  select format('comment on %s %s is %L',
    case when f.type like '% column' then 'column' when f.type = 'statistics object' then 'statistics'
      when f.type like '% constraint' then 'constraint' else f.type end,
    case f.type when 'domain constraint' then regexp_replace(f.identity, '^(.*) on (.*)$', '\\1 on domain \\2') else f.identity end,
    d.description) as sql
  from pg_description d cross join lateral pg_identify_object(d.classoid, d.objoid, d.objsubid) f
  where (d.objoid >= 16384 or (d.classoid = 'pg_namespace'::regclass and d.objoid = to_regnamespace('public') and d.description <> 'standard public schema'))
    and not exists (select from pg_depend x where x.classid = d.classoid and x.objid = d.objoid and x.deptype = 'e')
    and coalesce(f.schema, '') !~ '^pg_' and f.type not in ('large object', 'extension')
  order by 1`;

export const rowSecuritySql = `
  select format('alter table %s %s row level security', c.oid::regclass, words.word) as sql
  ${ours('pg_class c', 'c.relnamespace')}
    cross join lateral (values ('enable', c.relrowsecurity), ('force', c.relforcerowsecurity)) as words (word, is_on)
  where words.is_on`;

const rights = `
  select format('schema %I', n.nspname) as what, null::name as col, n.nspowner as owner, n.nspacl as acl
  from pg_namespace n where ${isOurs('n.nspname')}
  union all
  select format('%s %s', case c.relkind when 'S' then 'sequence' else 'table' end, c.oid::regclass), null, c.relowner, c.relacl
  ${ours('pg_class c', 'c.relnamespace')} where c.relkind in ('r', 'p', 'v', 'm', 'S') and not ${isOfExtension('pg_class', 'c.oid')}
  union all
  select format('table %s', c.oid::regclass), a.attname, c.relowner, a.attacl
  ${ours('pg_class c', 'c.relnamespace')} join pg_attribute a on a.attrelid = c.oid
  where not a.attisdropped and not ${isOfExtension('pg_class', 'c.oid')}
  union all
  select format('routine %s', p.oid::regprocedure), null, p.proowner, p.proacl
  ${ours('pg_proc p', 'p.pronamespace')} where not ${isOfExtension('pg_proc', 'p.oid')}
  union all
  select format('type %I.%I', n.nspname, t.typname), null, t.typowner, t.typacl
  ${ours('pg_type t', 't.typnamespace')} where not ${isOfExtension('pg_type', 't.oid')}`;

/** `who` is empty for the owner ($1), who gets back exactly what the list has. The login of reviews ($2) is granted again by the server. */
export const grantsSql = `
  with listed as (${rights}), known as (select * from listed where acl is not null)
  select * from (select format('revoke all on %s from public, %I', what, $1::text) as sql, null as who, what, 0 as step
    from known where col is null
  union all
  select format('grant %s%s on %s to %s%s', e.privilege_type, ' (' || quote_ident(k.col) || ')', k.what,
      case e.grantee when 0 then 'public' else quote_ident($1::text) end, case when e.is_grantable and e.grantee <> k.owner then ' with grant option' end),
    case when e.grantee in (0, k.owner) then null else pg_get_userbyid(e.grantee) end, k.what, 1
  from known k cross join lateral aclexplode(k.acl) e
  where pg_get_userbyid(e.grantee) <> $2::text) g
  -- An owner without rights on a schema could change nothing in it.
  order by what like 'schema %', what, step, sql`;

export const defaultPrivilegesSql = `
  select format('alter default privileges%s grant %s on %s to %s', ' in schema ' || quote_ident(n.nspname), e.privilege_type,
      case d.defaclobjtype when 'r' then 'tables' when 'S' then 'sequences' when 'f' then 'routines' when 'T' then 'types'
        when 'n' then 'schemas' else 'large objects' end, case e.grantee when 0 then 'public' else quote_ident($1::text) end) as sql,
    case when e.grantee = 0 or pg_get_userbyid(e.grantee) = $1::text then null else pg_get_userbyid(e.grantee) end as who, 'new objects' as what
  from pg_default_acl d left join pg_namespace n on n.oid = d.defaclnamespace cross join lateral aclexplode(d.defaclacl) e
  where pg_get_userbyid(d.defaclrole) = $1::text and pg_get_userbyid(e.grantee) <> $2::text
  union all
  select format('alter default privileges revoke %s on %s from public', p.word, p.kind), null, 'new objects'
  from pg_default_acl d join (values ('f', 'execute', 'routines'), ('T', 'usage', 'types')) p (type, word, kind) on p.type = d.defaclobjtype::text
  where d.defaclnamespace = 0 and pg_get_userbyid(d.defaclrole) = $1::text
    and not exists (select from aclexplode(d.defaclacl) e where e.grantee = 0)`;

export const policiesSql = `
  select format('create policy %I on %s as %s for %s to %s%s%s', p.polname, p.polrelid::regclass,
      case when p.polpermissive then 'permissive' else 'restrictive' end,
      case p.polcmd when 'r' then 'select' when 'a' then 'insert' when 'w' then 'update' when 'd' then 'delete' else 'all' end,
      (select string_agg(case r when 0 then 'public' else quote_ident(pg_get_userbyid(r)) end, ', ') from unnest(p.polroles) r),
      ' using (' || pg_get_expr(p.polqual, p.polrelid) || ')', ' with check (' || pg_get_expr(p.polwithcheck, p.polrelid) || ')') as sql,
    (select string_agg(pg_get_userbyid(r), ', ') from unnest(p.polroles) r where r <> 0 and pg_get_userbyid(r) <> $1) as who,
    format('policy %I of %s', p.polname, p.polrelid::regclass) as what
  ${ours('pg_class c', 'c.relnamespace')} join pg_policy p on p.polrelid = c.oid
  order by 1`;

/** Settings of lists are stored quoted. The platform sets the time limit itself. */
export const settingsSql = `
  select format('alter role %I%s set %s = %s', $1::text, case when s.setdatabase <> 0 then ' in database :database' end, v.name,
    case when v.name in ('search_path', 'temp_tablespaces', 'local_preload_libraries') then nullif(v.value, '') else quote_literal(v.value) end) as sql
  from pg_db_role_setting s join pg_roles r on r.oid = s.setrole cross join lateral unnest(s.setconfig) c (text)
    cross join lateral (select split_part(c.text, '=', 1) as name, substr(c.text, position('=' in c.text) + 1) as value) v
  where r.rolname = $1::text and v.name <> 'idle_in_transaction_session_timeout'
    and s.setdatabase in (0, (select oid from pg_database where datname = current_database()))`;

export const tablesSql = `
  select c.oid::int8 as id, n.nspname as schema, c.relname as name, c.relforcerowsecurity as "isForced", array(
    select a.attname::text from pg_attribute a
    where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' order by a.attnum) as columns
  ${ours('pg_class c', 'c.relnamespace')}
  where c.relkind = 'r' and not ${isOfExtension('pg_class', 'c.oid')} order by n.nspname, c.relname`;

export const sequenceNamesSql = `
  select n.nspname as schema, c.relname as name ${ours('pg_class c', 'c.relnamespace')}
  where c.relkind = 'S' and not ${isOfExtension('pg_class', 'c.oid')} order by 1, 2`;

export const largeObjectsSql = `
  select m.oid::int8 as id from pg_largeobject_metadata m where pg_get_userbyid(m.lomowner) = $1 order by 1`;
