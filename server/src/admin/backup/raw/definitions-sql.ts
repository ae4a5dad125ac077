import { identity, sequenceOptions } from '../schema-sql.ts';

/**
 * Statements that recreate each object of a whole database, in any order: `order-definitions.ts` sorts them. `search_path` must be
 * pg_catalog, so that PostgreSQL qualifies every name. A row is (class, id, step, sql); the step breaks ties between objects that do
 * not depend on each other.
 */

const collation = (oid: string, type: string) => `(
  select format(' collate %I.%I', cn.nspname, co.collname)
  from pg_collation co join pg_namespace cn on cn.oid = co.collnamespace join pg_type ct on ct.oid = ${type}
  where co.oid = ${oid} and ${oid} <> ct.typcollation)`;

/** Since PostgreSQL 18 NOT NULL has a name. One that is not validated follows the rows. */
const notNull = `case when a.attnotnull then coalesce((
  select case when k.convalidated then format(' constraint %I not null%s', k.conname,
    case when k.connoinherit then ' no inherit' end) else '' end
  from pg_constraint k where k.conrelid = a.attrelid and k.contype = 'n' and k.conkey = array[a.attnum]), ' not null') end`;

const column = `format('%I %s%s%s%s', a.attname, format_type(a.atttypid, a.atttypmod), ${collation('a.attcollation', 'a.atttypid')},
  case
    when a.attidentity <> '' then ${identity}
    when a.attgenerated <> '' then format(' generated always as (%s) %s', pg_get_expr(d.adbin, d.adrelid),
      case a.attgenerated when 's' then 'stored' else 'virtual' end)
  end, ${notNull})`;

const options = `' with (' || array_to_string(c.reloptions, ', ') || ')'`;
const isInherited = (table: string) =>
  `exists (select from pg_inherits ih where ${table} in (ih.inhrelid, ih.inhparent))`;
/** A child of a table that is not partitioned declares only what its parents lack. */
const isChild = `not c.relispartition and exists (select from pg_inherits ih where ih.inhrelid = c.oid)`;
/** Partitions must have the checks of their table before they are attached; other checks are cheaper after the rows. */
const isInlineCheck = `k.contype = 'c' and k.convalidated and ${isInherited('k.conrelid')}`;

const from = (table: string, namespace: string) =>
  `from ${table} join pg_namespace n on n.oid = ${namespace} and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'`;

const schemas = `
  select 'pg_namespace'::regclass as class, n.oid as id, 0 as step, format('create schema %I', n.nspname) as sql
  from pg_namespace n where n.nspname !~ '^pg_' and n.nspname not in ('information_schema', 'public')`;

const extensions = `
  select 'pg_extension'::regclass, e.oid, 1, format('create extension if not exists %I with schema %I', e.extname, n.nspname)
  from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname <> 'plpgsql'`;

/** Columns of collations have other names in each major version. */
const collations = `
  select 'pg_collation'::regclass, c.oid, 2, format('create collation %I.%I (provider = %s, %s%s%s)',
    n.nspname, c.collname, case c.collprovider when 'i' then 'icu' when 'b' then 'builtin' else 'libc' end,
    case when j.locale is null then format('lc_collate = %L, lc_ctype = %L', c.collcollate, c.collctype)
      else format('locale = %L', j.locale) end, case when not c.collisdeterministic then ', deterministic = false' end,
    ', rules = ' || quote_literal(to_jsonb(c) ->> 'collicurules'))
  ${from('pg_collation c', 'c.collnamespace')}
    cross join lateral (select coalesce(to_jsonb(c) ->> 'colllocale', to_jsonb(c) ->> 'colliculocale') as locale) j`;

const types = `
  select 'pg_type'::regclass, t.oid, 2, format('create type %I.%I as enum (%s)', n.nspname, t.typname,
    (select string_agg(quote_literal(enumlabel), ', ' order by enumsortorder) from pg_enum where enumtypid = t.oid))
  ${from('pg_type t', 't.typnamespace')} where t.typtype = 'e'
  union all
  select 'pg_type'::regclass, t.oid, 2, format('create type %I.%I as (%s)', n.nspname, t.typname,
    (select string_agg(format('%I %s%s', a.attname, format_type(a.atttypid, a.atttypmod),
        ${collation('a.attcollation', 'a.atttypid')}), ', ' order by a.attnum)
     from pg_attribute a where a.attrelid = t.typrelid and a.attnum > 0 and not a.attisdropped))
  ${from('pg_type t', 't.typnamespace')} join pg_class c on c.oid = t.typrelid and c.relkind = 'c'
  union all
  select 'pg_type'::regclass, t.oid, 2, format('create domain %I.%I as %s%s%s%s%s', n.nspname, t.typname,
    format_type(t.typbasetype, t.typtypmod), ${collation('t.typcollation', 't.typbasetype')},
    ' default ' || pg_get_expr(t.typdefaultbin, 0), case when t.typnotnull then ' not null' end,
    (select string_agg(format(' constraint %I %s', k.conname, pg_get_constraintdef(k.oid)), '' order by k.conname)
     from pg_constraint k where k.contypid = t.oid and k.contype = 'c' and k.convalidated))
  ${from('pg_type t', 't.typnamespace')} where t.typtype = 'd'
  union all
  select 'pg_type'::regclass, t.oid, 2, format('create type %I.%I as range (subtype = %s, subtype_opclass = %I.%I%s%s, multirange_type_name = %I.%I)',
    n.nspname, t.typname, format_type(r.rngsubtype, null), opn.nspname, op.opcname,
    (select format(', collation = %I.%I', cn.nspname, co.collname) from pg_collation co
     join pg_namespace cn on cn.oid = co.collnamespace where co.oid = r.rngcollation),
    case when r.rngsubdiff <> 0 then format(', subtype_diff = %s', r.rngsubdiff) end, mn.nspname, m.typname)
  ${from('pg_type t', 't.typnamespace')} join pg_range r on r.rngtypid = t.oid
    join pg_opclass op on op.oid = r.rngsubopc join pg_namespace opn on opn.oid = op.opcnamespace
    join pg_type m on m.oid = r.rngmultitypid join pg_namespace mn on mn.oid = m.typnamespace
  where r.rngcanonical = 0`;

const functions = `
  select 'pg_proc'::regclass, p.oid, 3, pg_get_functiondef(p.oid) ${from('pg_proc p', 'p.pronamespace')}
  where p.prokind in ('f', 'p')
  union all
  select 'pg_proc'::regclass, p.oid, 3, format('create aggregate %I.%I(%s) (sfunc = %s, stype = %s, parallel = %s%s)',
    n.nspname, p.proname, coalesce(nullif(pg_get_function_arguments(p.oid), ''), '*'), g.aggtransfn,
    format_type(g.aggtranstype, null), case p.proparallel when 's' then 'safe' when 'r' then 'restricted' else 'unsafe' end,
    concat(case when g.aggtransspace <> 0 then ', sspace = ' || g.aggtransspace end,
      case when g.aggfinalfn <> 0 then format(', finalfunc = %s, finalfunc_modify = %s', g.aggfinalfn,
        case g.aggfinalmodify when 'r' then 'read_only' when 's' then 'shareable' else 'read_write' end) end,
      case when g.aggfinalextra then ', finalfunc_extra' end,
      case when g.aggcombinefn <> 0 then ', combinefunc = ' || g.aggcombinefn end,
      case when g.aggserialfn <> 0 then format(', serialfunc = %s, deserialfunc = %s', g.aggserialfn, g.aggdeserialfn) end,
      ', initcond = ' || quote_literal(g.agginitval),
      case when g.aggmtransfn <> 0 then format(', msfunc = %s, minvfunc = %s, mstype = %s', g.aggmtransfn, g.aggminvtransfn,
        format_type(g.aggmtranstype, null)) end,
      case when g.aggmtransspace <> 0 then ', msspace = ' || g.aggmtransspace end,
      case when g.aggmfinalfn <> 0 then format(', mfinalfunc = %s, mfinalfunc_modify = %s', g.aggmfinalfn,
        case g.aggmfinalmodify when 'r' then 'read_only' when 's' then 'shareable' else 'read_write' end) end,
      case when g.aggmfinalextra then ', mfinalfunc_extra' end,
      ', minitcond = ' || quote_literal(g.aggminitval),
      (select format(', sortop = operator(%I.%s)', o.nspname, so.oprname)
       from pg_operator so join pg_namespace o on o.oid = so.oprnamespace where so.oid = g.aggsortop)))
  ${from('pg_proc p', 'p.pronamespace')} join pg_aggregate g on g.aggfnoid = p.oid and g.aggkind = 'n'`;

const operatorName = (oid: string) =>
  `(select format('operator(%I.%s)', o.nspname, r.oprname) from pg_operator r join pg_namespace o on o.oid = r.oprnamespace where r.oid = ${oid})`;

const operators = `
  select 'pg_operator'::regclass, p.oid, 4, format('create operator %I.%s (function = %s%s%s%s%s%s%s%s%s)', n.nspname, p.oprname,
    p.oprcode, case when p.oprleft <> 0 then ', leftarg = ' || format_type(p.oprleft, null) end,
    ', rightarg = ' || format_type(p.oprright, null), ', commutator = ' || ${operatorName('p.oprcom')},
    ', negator = ' || ${operatorName('p.oprnegate')}, case when p.oprrest <> 0 then ', restrict = ' || p.oprrest end,
    case when p.oprjoin <> 0 then ', join = ' || p.oprjoin end, case when p.oprcanhash then ', hashes' end,
    case when p.oprcanmerge then ', merges' end)
  ${from('pg_operator p', 'p.oprnamespace')} where p.oprcode <> 0
  union all
  select 'pg_cast'::regclass, c.oid, 4, format('create cast (%s as %s) %s%s', format_type(c.castsource, null),
    format_type(c.casttarget, null), case c.castmethod when 'f' then 'with function ' || c.castfunc::regprocedure
      when 'i' then 'with inout' else 'without function' end,
    case c.castcontext when 'a' then ' as assignment' when 'i' then ' as implicit' end)
  from pg_cast c where c.oid >= 16384`;

const textSearch = `
  select 'pg_ts_dict'::regclass, d.oid, 4, format('create text search dictionary %I.%I (template = %I.%I%s)', n.nspname, d.dictname,
    tn.nspname, t.tmplname, ', ' || d.dictinitoption)
  ${from('pg_ts_dict d', 'd.dictnamespace')} join pg_ts_template t on t.oid = d.dicttemplate
    join pg_namespace tn on tn.oid = t.tmplnamespace
  union all
  select 'pg_ts_config'::regclass, f.oid, 5, format('create text search configuration %I.%I (parser = %I.%I)', n.nspname, f.cfgname,
      pn.nspname, p.prsname) || coalesce((
    select string_agg(format('; alter text search configuration %I.%I add mapping for %I with %s', n.nspname, f.cfgname, k.alias,
      (select string_agg(format('%I.%I', dn.nspname, d.dictname), ', ' order by m.mapseqno) from pg_ts_config_map m
       join pg_ts_dict d on d.oid = m.mapdict join pg_namespace dn on dn.oid = d.dictnamespace
       where m.mapcfg = f.oid and m.maptokentype = k.tokid)), '' order by k.tokid)
    from ts_token_type(f.cfgparser) k
    where exists (select from pg_ts_config_map m where m.mapcfg = f.oid and m.maptokentype = k.tokid)), '')
  ${from('pg_ts_config f', 'f.cfgnamespace')} join pg_ts_parser p on p.oid = f.cfgparser
    join pg_namespace pn on pn.oid = p.prsnamespace`;

const sequences = `
  select 'pg_class'::regclass, c.oid, 6, format('create %ssequence %I.%I as %s %s', case c.relpersistence when 'u' then 'unlogged ' end,
    n.nspname, c.relname, format_type(s.seqtypid, null), ${sequenceOptions})
  ${from('pg_class c', 'c.relnamespace')} join pg_sequence s on s.seqrelid = c.oid
  where not exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'i')`;

const tables = `
  select 'pg_class'::regclass, c.oid, 7, format('create %stable %I.%I (%s)%s%s%s', case c.relpersistence when 'u' then 'unlogged ' end,
    n.nspname, c.relname, concat_ws(', ',
      (select string_agg(${column}, ', ' order by a.attnum)
       from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
       where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and (a.attislocal or not (${isChild}))),
      (select string_agg(format('constraint %I %s', k.conname, pg_get_constraintdef(k.oid)), ', ' order by k.conname)
       from pg_constraint k where k.conrelid = c.oid and ${isInlineCheck} and (k.conislocal or not (${isChild})))),
    case when ${isChild} then (select format(' inherits (%s)', string_agg(i.inhparent::regclass::text, ', ' order by i.inhseqno))
      from pg_inherits i where i.inhrelid = c.oid) end,
    case when c.relkind = 'p' then ' partition by ' || pg_get_partkeydef(c.oid) end, ${options})
  ${from('pg_class c', 'c.relnamespace')} where c.relkind in ('r', 'p')`;

const views = `
  select 'pg_class'::regclass, c.oid, 9, format('create %sview %I.%I%s as %s%s', case c.relkind when 'm' then 'materialized ' end,
    n.nspname, c.relname, ${options}, rtrim(pg_get_viewdef(c.oid), ';'), case c.relkind when 'm' then ' with no data' end)
  ${from('pg_class c', 'c.relnamespace')} where c.relkind in ('v', 'm')`;

const defaults = `
  select 'pg_attrdef'::regclass, d.oid, 8, format('alter table only %s alter column %I set default %s', d.adrelid::regclass, a.attname,
    pg_get_expr(d.adbin, d.adrelid))
  ${from('pg_class c', 'c.relnamespace')} join pg_attrdef d on d.adrelid = c.oid
    join pg_attribute a on a.attrelid = d.adrelid and a.attnum = d.adnum and a.attgenerated = ''`;

const constraints = `
  select 'pg_constraint'::regclass, k.oid, case k.contype when 'f' then 13 else 10 end,
    format('alter table %s%s add constraint %I %s', case when k.contype <> 'f' then 'only ' end, k.conrelid::regclass, k.conname,
      pg_get_constraintdef(k.oid))
  ${from('pg_class c', 'c.relnamespace')} join pg_constraint k on k.conrelid = c.oid
  where k.contype in ('p', 'u', 'x') or (k.contype = 'f' and k.conparentid = 0)
    or (k.contype = 'c' and not (${isInlineCheck}) and k.conislocal) or (k.contype = 'n' and not k.convalidated)
  union all
  select 'pg_constraint'::regclass, k.oid, 10, format('alter domain %I.%I add constraint %I %s', n.nspname, t.typname, k.conname,
    pg_get_constraintdef(k.oid))
  ${from('pg_type t', 't.typnamespace')} join pg_constraint k on k.contypid = t.oid and k.contype = 'c' and not k.convalidated`;

/** An index that is not valid is what a failed CREATE INDEX CONCURRENTLY left; one of a partitioned table waits for its parts. */
const indexes = `
  select 'pg_class'::regclass, x.oid, 11, pg_get_indexdef(x.oid)
  ${from('pg_class x', 'x.relnamespace')} join pg_index i on i.indexrelid = x.oid
  where (i.indisvalid or x.relkind = 'I')
    and not exists (select from pg_constraint k where k.conindid = x.oid and k.contype in ('p', 'u', 'x'))`;

const behaviour = `
  select 'pg_statistic_ext'::regclass, s.oid, 12, pg_get_statisticsobjdef(s.oid) ${from('pg_statistic_ext s', 's.stxnamespace')}
  union all
  select 'pg_rewrite'::regclass, r.oid, 14, concat_ws('; ', rtrim(pg_get_ruledef(r.oid), ';'),
    case r.ev_enabled when 'D' then format('alter table %s disable rule %I', r.ev_class::regclass, r.rulename) end)
  ${from('pg_class c', 'c.relnamespace')} join pg_rewrite r on r.ev_class = c.oid and r.rulename <> '_RETURN'
  union all
  select 'pg_trigger'::regclass, t.oid, 15, concat_ws('; ', pg_get_triggerdef(t.oid), case when t.tgenabled <> 'O' then
    format('alter table %s %s trigger %I', t.tgrelid::regclass,
      case t.tgenabled when 'D' then 'disable' when 'R' then 'enable replica' else 'enable always' end, t.tgname) end)
  ${from('pg_class c', 'c.relnamespace')} join pg_trigger t on t.tgrelid = c.oid
  where not t.tgisinternal and t.tgparentid = 0`;

/** Parts of extensions, and of other objects such as the constructors of a range, come with them. */
export const objectsSql = `
  select o.class::oid::int8 as class, o.id::int8 as id, o.step, o.sql from (
    ${[
      schemas,
      extensions,
      collations,
      types,
      functions,
      operators,
      textSearch,
      sequences,
      tables,
      views,
      defaults,
      constraints,
      indexes,
      behaviour,
    ].join(' union all ')}) o
  where not exists (
    select from pg_depend e where e.classid = o.class and e.objid = o.id and e.deptype in ('e', 'i') and e.refobjid <> o.id)
  order by o.step, o.id`;

const attachSql = (kinds: string, sql: string) => `
  select i.inhparent::int8 as parent, i.inhrelid::int8 as child, ${sql} as sql
  ${from('pg_class c', 'c.relnamespace')} join pg_inherits i on i.inhrelid = c.oid
  where c.relkind in (${kinds}) and c.relispartition
  order by 3`;

export const partitionsSql = attachSql(
  `'r', 'p'`,
  `format('alter table only %s attach partition %s %s', i.inhparent::regclass, c.oid::regclass, pg_get_expr(c.relpartbound, c.oid))`,
);
export const partitionIndexesSql = attachSql(
  `'i', 'I'`,
  `format('alter index %s attach partition %s', i.inhparent::regclass, c.oid::regclass)`,
);

export const dependenciesSql = `
  select classid::int8 as class, objid::int8 as id, refclassid::int8 as ref_class, refobjid::int8 as ref_id, deptype in ('i', 'e') as is_part
  from pg_depend where refobjid >= 16384 and classid <> 0 and (classid, objid) <> (refclassid, refobjid)
  union
  select 'pg_constraint'::regclass::oid::int8, k.oid::int8, 'pg_class'::regclass::oid::int8, k.conrelid::int8, true
  from pg_constraint k where ${isInlineCheck} or (k.contype = 'n' and k.convalidated)
  union
  select 'pg_constraint'::regclass::oid::int8, k.oid::int8, 'pg_type'::regclass::oid::int8, k.contypid::int8, true
  from pg_constraint k where k.contypid <> 0 and k.convalidated
  union
  select 'pg_attrdef'::regclass::oid::int8, d.oid::int8, 'pg_class'::regclass::oid::int8, d.adrelid::int8, true
  from pg_attrdef d join pg_attribute a on a.attrelid = d.adrelid and a.attnum = d.adnum and a.attgenerated <> ''`;

/** Objects that an app can create and that are not dumped, with all that depends on them. */
export const unsupportedSql = `
  select u.class::oid::int8 as class, u.id::int8 as id, f.type || ' ' || f.identity as what
  from (
    select 'pg_class'::regclass as class, c.oid as id ${from('pg_class c', 'c.relnamespace')} where c.relkind = 'f'
    union all
    select 'pg_type'::regclass, t.oid ${from('pg_type t', 't.typnamespace')} left join pg_range r on r.rngtypid = t.oid
    where (t.typtype = 'b' and t.typelem = 0) or r.rngcanonical <> 0
    union all
    select 'pg_proc'::regclass, p.oid ${from('pg_proc p', 'p.pronamespace')} left join pg_aggregate g on g.aggfnoid = p.oid
    where p.prokind = 'w' or g.aggkind <> 'n'
    union all select 'pg_opfamily'::regclass, oid from pg_opfamily
    union all select 'pg_conversion'::regclass, oid from pg_conversion
    union all select 'pg_foreign_data_wrapper'::regclass, oid from pg_foreign_data_wrapper
    union all select 'pg_foreign_server'::regclass, oid from pg_foreign_server
    union all select 'pg_transform'::regclass, oid from pg_transform
    union all select 'pg_language'::regclass, oid from pg_language
    union all select 'pg_event_trigger'::regclass, oid from pg_event_trigger
    union all select 'pg_publication'::regclass, oid from pg_publication
  ) u cross join lateral pg_identify_object(u.class, u.id, 0) f
  where u.id >= 16384
    and not exists (select from pg_depend e where e.classid = u.class and e.objid = u.id and e.deptype in ('e', 'i'))
  order by 3`;
