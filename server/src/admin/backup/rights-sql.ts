/**
 * Rights inside a schema ($1), each as the text before and after the name of who has them: the role that serves rows
 * ($2) has another name in another system. Rights of the owner are not listed, since they come with what is owned.
 */
const rights = `
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

/** `who`: rows, public, or the name of a role that a backup does not know how to make. */
const who = (grantee: string) => `case
  when ${grantee} = 0 then 'public'
  when pg_get_userbyid(${grantee}) = $2 then 'rows'
  else 'role ' || pg_get_userbyid(${grantee}) end`;

export const grantsSql = `
  select format('grant %s%s on %s to ', e.privilege_type, ' (' || quote_ident(r.col) || ')', r.what) as before,
    case when e.is_grantable then ' with grant option' else '' end as after, ${who('e.grantee')} as who, r.what
  from (${rights}) r cross join lateral aclexplode(r.acl) e
  where e.grantee <> r.owner
  union all
  select format('alter default privileges in schema %I grant %s on %s to ', n.nspname, e.privilege_type,
      case d.defaclobjtype when 'r' then 'tables' when 'S' then 'sequences' when 'f' then 'functions' else 'types' end),
    case when e.is_grantable then ' with grant option' else '' end, ${who('e.grantee')}, 'new objects'
  from pg_default_acl d join pg_namespace n on n.oid = d.defaclnamespace cross join lateral aclexplode(d.defaclacl) e
  where n.nspname = $1 and e.grantee <> d.defaclrole
  order by 1`;

/** Functions may be called by everyone unless that was taken back. */
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
    case when cardinality(p.polroles) = 1 then ${who('p.polroles[1]')} else 'role list' end as who,
    format('policy %I of %I.%I', p.polname, n.nspname, c.relname) as what
  from pg_policy p join pg_class c on c.oid = p.polrelid join pg_namespace n on n.oid = c.relnamespace
  where n.nspname = $1
  order by c.relname, p.polname`;
