/** Statements that recreate a schema ($1). `search_path` must be pg_catalog, so that PostgreSQL qualifies every name. */

const isOfExtension = (catalog: string, oid: string) =>
  `exists (select from pg_depend where classid = '${catalog}'::regclass and objid = ${oid} and deptype = 'e')`;

export const sequenceOptions = `format(
  'start with %s increment by %s minvalue %s maxvalue %s cache %s%s',
  s.seqstart, s.seqincrement, s.seqmin, s.seqmax, s.seqcache, case when s.seqcycle then ' cycle' else '' end)`;

export const functionsSql = `
  select pg_get_functiondef(p.oid) as sql
  from pg_proc p join pg_namespace n on n.oid = p.pronamespace
  where n.nspname = $1 and p.prokind in ('f', 'p') and not ${isOfExtension('pg_proc', 'p.oid')}
  order by p.oid`;

export const sequencesSql = `
  select format('create sequence %I.%I as %s %s', n.nspname, c.relname, format_type(s.seqtypid, null),
    ${sequenceOptions}) as sql
  from pg_sequence s join pg_class c on c.oid = s.seqrelid join pg_namespace n on n.oid = c.relnamespace
  where n.nspname = $1
    and not exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'i')
  order by c.relname`;

export const identity = `(
  select format(' generated %s as identity (sequence name %I.%I %s)',
    case a.attidentity when 'a' then 'always' else 'by default' end, sn.nspname, sc.relname, ${sequenceOptions})
  from pg_depend d join pg_sequence s on s.seqrelid = d.objid
    join pg_class sc on sc.oid = s.seqrelid join pg_namespace sn on sn.oid = sc.relnamespace
  where d.classid = 'pg_class'::regclass and d.refclassid = 'pg_class'::regclass
    and d.refobjid = a.attrelid and d.refobjsubid = a.attnum and d.deptype = 'i')`;

const column = `format('%I %s%s%s%s', a.attname, format_type(a.atttypid, a.atttypmod),
  (select format(' collate %I.%I', cn.nspname, co.collname)
   from pg_collation co join pg_namespace cn on cn.oid = co.collnamespace join pg_type t on t.oid = a.atttypid
   where co.oid = a.attcollation and a.attcollation <> t.typcollation),
  case
    when a.attidentity <> '' then ${identity}
    when a.attgenerated <> '' then format(' generated always as (%s) %s', pg_get_expr(d.adbin, d.adrelid),
      case a.attgenerated when 's' then 'stored' else 'virtual' end)
    when d.adbin is not null then ' default ' || pg_get_expr(d.adbin, d.adrelid)
  end,
  case when a.attnotnull then ' not null' end)`;

export const tablesSql = `
  select format('create %stable %I.%I (%s)%s', case c.relpersistence when 'u' then 'unlogged ' end, n.nspname, c.relname,
    (select string_agg(${column}, ', ' order by a.attnum)
     from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
     where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped),
    ' with (' || array_to_string(c.reloptions, ', ') || ')') as sql
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where n.nspname = $1 and c.relkind = 'r'
  order by c.relname`;

export const ownedSequencesSql = `
  select format('alter sequence %I.%I owned by %I.%I.%I', n.nspname, c.relname, tn.nspname, t.relname, a.attname) as sql
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
    join pg_depend d on d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'a'
    join pg_class t on d.refclassid = 'pg_class'::regclass and t.oid = d.refobjid
    join pg_namespace tn on tn.oid = t.relnamespace
    join pg_attribute a on a.attrelid = t.oid and a.attnum = d.refobjsubid
  where n.nspname = $1 and c.relkind = 'S'
  order by c.relname`;

const constraints = (kinds: string) => `
  select format('alter table %I.%I add constraint %I %s', n.nspname, c.relname, k.conname,
    pg_get_constraintdef(k.oid)) as sql
  from pg_constraint k join pg_class c on c.oid = k.conrelid join pg_namespace n on n.oid = c.relnamespace
  where n.nspname = $1 and c.relkind = 'r' and k.contype in (${kinds})
  order by position(k.contype::text in 'puxcf'), c.relname, k.conname`;
export const constraintsSql = constraints(`'p', 'u', 'x', 'c'`);
export const foreignKeysSql = constraints(`'f'`);

export const indexesSql = `
  select pg_get_indexdef(i.indexrelid) as sql
  from pg_index i join pg_class c on c.oid = i.indrelid join pg_namespace n on n.oid = c.relnamespace
  where n.nspname = $1 and c.relkind = 'r'
    and not exists (select from pg_constraint k where k.conindid = i.indexrelid and k.contype in ('p', 'u', 'x'))
  order by i.indexrelid::regclass::text`;

export const statisticsSql = `
  select pg_get_statisticsobjdef(s.oid) as sql
  from pg_statistic_ext s join pg_namespace n on n.oid = s.stxnamespace where n.nspname = $1 order by s.stxname`;

export const triggersSql = `
  select pg_get_triggerdef(t.oid) as sql
  from pg_trigger t join pg_class c on c.oid = t.tgrelid join pg_namespace n on n.oid = c.relnamespace
  where n.nspname = $1 and c.relkind = 'r' and not t.tgisinternal
  order by c.relname, t.tgname`;

export const rowSecuritySql = `
  select format('alter table %I.%I %s', n.nspname, c.relname, words.word || ' row level security') as sql
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
    cross join lateral (values ('enable', c.relrowsecurity), ('force', c.relforcerowsecurity)) as words (word, is_on)
  where n.nspname = $1 and c.relkind = 'r' and words.is_on
  order by c.relname, words.word`;

export const commentsSql = `
  select format('comment on schema %I is %L', n.nspname, d.description) as sql
  from pg_description d join pg_namespace n on d.classoid = 'pg_namespace'::regclass and n.oid = d.objoid
  where n.nspname = $1
  union all
  select case when d.objsubid > 0
      then format('comment on column %I.%I.%I is %L', n.nspname, c.relname, a.attname, d.description)
      else format('comment on %s %I.%I is %L',
        case c.relkind when 'S' then 'sequence' when 'i' then 'index' else 'table' end,
        n.nspname, c.relname, d.description) end
  from pg_description d join pg_class c on d.classoid = 'pg_class'::regclass and c.oid = d.objoid
    join pg_namespace n on n.oid = c.relnamespace
    left join pg_attribute a on a.attrelid = c.oid and a.attnum = d.objsubid and d.objsubid > 0
  where n.nspname = $1 and c.relkind in ('r', 'S', 'i')
  union all
  select format('comment on constraint %I on %I.%I is %L', k.conname, n.nspname, c.relname, d.description)
  from pg_description d join pg_constraint k on d.classoid = 'pg_constraint'::regclass and k.oid = d.objoid
    join pg_class c on c.oid = k.conrelid join pg_namespace n on n.oid = c.relnamespace
  where n.nspname = $1 and k.contype <> 'n'
  order by 1`;

export const excludedSql = `
  select format('%s %I.%I', case c.relkind when 'v' then 'view' when 'm' then 'materialized view'
      when 'f' then 'foreign table' when 'p' then 'partitioning of' else 'type' end, n.nspname, c.relname) as what
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where n.nspname = $1 and c.relkind in ('v', 'm', 'f', 'p', 'c') and not ${isOfExtension('pg_class', 'c.oid')}
  union all
  select format('type %I.%I', n.nspname, t.typname)
  from pg_type t join pg_namespace n on n.oid = t.typnamespace
  where n.nspname = $1 and t.typtype in ('e', 'd', 'r') and not ${isOfExtension('pg_type', 't.oid')}
  union all
  select format('aggregate %s', p.oid::regprocedure)
  from pg_proc p join pg_namespace n on n.oid = p.pronamespace
  where n.nspname = $1 and p.prokind not in ('f', 'p') and not ${isOfExtension('pg_proc', 'p.oid')}
  order by 1`;

/** Privileges in a schema ($1) as text around the grantee, because the role that serves rows ($2) is named differently elsewhere. */
const rightsSql = `
  select format('schema %I', n.nspname) as what, null::name as col, n.nspowner as owner, n.nspacl as acl
  from pg_namespace n where n.nspname = $1
  union all
  select format('%s %I.%I', case c.relkind when 'S' then 'sequence' else 'table' end, n.nspname, c.relname),
    null, c.relowner, c.relacl
  from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = $1 and c.relkind in ('r', 'S')
  union all
  select format('table %I.%I', n.nspname, c.relname), a.attname, c.relowner, a.attacl
  from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
  where n.nspname = $1 and c.relkind = 'r' and not a.attisdropped and a.attacl is not null
  union all
  select format('function %s', p.oid::regprocedure), null, p.proowner, p.proacl
  from pg_proc p join pg_namespace n on n.oid = p.pronamespace where n.nspname = $1 and p.prokind in ('f', 'p')`;

const granteeKind = (grantee: string) => `case
  when ${grantee} = 0 then 'public'
  when pg_get_userbyid(${grantee}) = $2 then 'rows'
  else 'role ' || pg_get_userbyid(${grantee}) end`;

export const grantsSql = `
  select format('grant %s%s on %s to ', e.privilege_type, ' (' || quote_ident(r.col) || ')', r.what) as before,
    case when e.is_grantable then ' with grant option' else '' end as after, ${granteeKind('e.grantee')} as who, r.what
  from (${rightsSql}) r cross join lateral aclexplode(r.acl) e
  where e.grantee <> r.owner
  union all
  select format('alter default privileges in schema %I grant %s on %s to ', n.nspname, e.privilege_type,
      case d.defaclobjtype when 'r' then 'tables' when 'S' then 'sequences' when 'f' then 'functions' else 'types' end),
    case when e.is_grantable then ' with grant option' else '' end, ${granteeKind('e.grantee')}, 'new objects'
  from pg_default_acl d join pg_namespace n on n.oid = d.defaclnamespace cross join lateral aclexplode(d.defaclacl) e
  where n.nspname = $1 and e.grantee <> d.defaclrole
  order by 1`;

export const closedFunctionsSql = `
  select format('revoke all on function %s from public', p.oid::regprocedure) as sql
  from pg_proc p join pg_namespace n on n.oid = p.pronamespace
  where n.nspname = $1 and p.prokind in ('f', 'p') and p.proacl is not null
  order by 1`;

export const policiesSql = `
  select format('create policy %I on %I.%I as %s for %s to ', p.polname, n.nspname, c.relname,
      case when p.polpermissive then 'permissive' else 'restrictive' end,
      case p.polcmd when 'r' then 'select' when 'a' then 'insert' when 'w' then 'update' when 'd' then 'delete'
        else 'all' end) as before,
    coalesce(' using (' || pg_get_expr(p.polqual, p.polrelid) || ')', '')
      || coalesce(' with check (' || pg_get_expr(p.polwithcheck, p.polrelid) || ')', '') as after,
    case when cardinality(p.polroles) = 1 then ${granteeKind('p.polroles[1]')} else 'role list' end as who,
    format('policy %I of %I.%I', p.polname, n.nspname, c.relname) as what
  from pg_policy p join pg_class c on c.oid = p.polrelid join pg_namespace n on n.oid = c.relnamespace
  where n.nspname = $1
  order by c.relname, p.polname`;
