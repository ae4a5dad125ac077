import { type ColumnType, describeColumnType } from '@svc/contract/columns.ts';
import type { DatePart } from '@svc/contract/rows.ts';
import type { CatalogueColumn } from '../tables/catalogue.ts';
import {
  addressPattern,
  constantText,
  countArg,
  type Mask,
  type MaskContext,
  maskSql,
  roundFloatSql,
  truncateUnitOf,
} from './masks.ts';

type OrderOperator = '=' | '<>' | '>' | '>=' | '<' | '<=';

/** Differences between databases. In all of them, names are quoted alike and values are `$1`, `$2` …. */
export interface Dialect {
  encode(value: string | null, type: ColumnType): string | null;
  castBound(placeholder: string, sqlType: string): string;
  compare(name: string, operator: OrderOperator, bound: string, column: CatalogueColumn): string;
  between(name: string, from: string, to: string, column: CatalogueColumn): string;
  listsAreArrays: boolean;
  like(name: string, pattern: string): string;
  likeAnyCase(name: string, pattern: string): string;
  isTrue(name: string, keyword: 'true' | 'false'): string;
  contains(name: string, part: string): string;
  isContained(name: string, whole: string): string;
  hasKey(name: string, key: string): string;
  /** In the order of PostgreSQL: texts by their bytes, nulls after all others. */
  orderBy(name: string, column: CatalogueColumn, descending: boolean): string;
  sortKey(name: string, column: CatalogueColumn): string;
  count: string;
  nothing: string;
  explain: string | null;
  mask(mask: Mask, value: string, context: MaskContext): string;
  cast(expression: string, type: ColumnType): string;
  double(expression: string): string;
  /** Weeks start on Monday. Without a zone in UTC. */
  startOf(part: DatePart, name: string, options: { isDate: boolean; zone: string | null }): string;
  offset(placeholder: string): string;
  returning(names: readonly string[]): string;
  noValues: string;
}

/** Columns of apps use the collation "C"; in other databases the order of a text may depend on its language. */
const byBytes = (name: string, { hasOtherOrder }: CatalogueColumn) =>
  hasOtherOrder ? `${name} collate "C"` : name;

/** Equal texts have equal bytes, so that an index of any collation can be used. */
const isEquality = (operator: OrderOperator) => operator === '=' || operator === '<>';

export const postgresDialect: Dialect = {
  encode: (value) => value,
  castBound: (placeholder, sqlType) => `${placeholder}::${sqlType}`,
  compare: (name, operator, bound, column) =>
    `${isEquality(operator) ? name : byBytes(name, column)} ${operator} ${bound}`,
  between: (name, from, to, column) => `${byBytes(name, column)} between ${from} and ${to}`,
  listsAreArrays: true,
  like: (name, pattern) => `${name} like ${pattern}`,
  // The collation "C" folds the case of ASCII only.
  likeAnyCase: (name, pattern) => `${name} collate "default" ilike ${pattern}`,
  isTrue: (name, keyword) => `${name} is ${keyword}`,
  contains: (name, part) => `${name} @> ${part}`,
  isContained: (name, whole) => `${name} <@ ${whole}`,
  hasKey: (name, key) => `${name} ? ${key}`,
  orderBy: (name, column, descending) => `${byBytes(name, column)}${descending ? ' desc' : ''}`,
  sortKey: byBytes,
  count: 'count(*)::text',
  nothing: '',
  explain: 'explain (format json) ',
  mask: maskSql,
  cast: (expression, type) => `(${expression})::${describeColumnType(type).sql}`,
  double: (expression) => `(${expression})::float8`,
  startOf(part, name, { isDate, zone }) {
    if (isDate) return `date_trunc('${part}', ${name}::timestamp)::date`;
    if (part === 'hour') return `date_trunc('hour', ${name}, ${zone ?? "'UTC'"})`;
    return `date_trunc('${part}', ${name} at time zone ${zone ?? "'UTC'"})::date`;
  },
  offset: (placeholder) => `${placeholder}::int8`,
  returning: (names) => ` returning ${names.join(', ')}`,
  noValues: 'default values',
};

/** Casts by the SQL types of PostgreSQL, under which the rest of the code knows them. */
const casts: Readonly<Record<string, string>> = {
  int4: 'signed',
  int8: 'signed',
  bool: 'signed',
  numeric: 'decimal(65, 30)',
  timestamptz: 'datetime(6)',
  date: 'date',
  text: 'char',
  uuid: 'char',
  jsonb: 'char',
};

function castBound(placeholder: string, sqlType: string): string {
  if (sqlType === 'float8') return `(${placeholder} + 0e0)`;
  if (sqlType === 'bytea') return `unhex(substr(${placeholder}, 3))`;
  const cast = casts[sqlType];
  return cast === undefined || cast === 'char' ? placeholder : `cast(${placeholder} as ${cast})`;
}

/** The bytes of a text in UTF-8: collations of MySQL ignore case and spaces at the end. */
const bytesOf = (name: string) => `cast(convert(${name} using utf8mb4) as binary)`;
const boundBytes = (bound: string) => `cast(${bound} as binary)`;
const isText = ({ type, hasOtherOrder }: CatalogueColumn) => type === 'text' || hasOtherOrder === true;
const comparable = (name: string, column: CatalogueColumn) => (isText(column) ? bytesOf(name) : name);

export const mysqlDialect: Dialect = {
  encode,
  castBound,
  compare(name, operator, bound, column) {
    if (!isText(column)) return `${name} ${operator} ${bound}`;
    const exact = `${bytesOf(name)} ${operator} ${boundBytes(bound)}`;
    // The first comparison is for the index; it is true of all texts with these bytes.
    return operator === '=' ? `(${name} = ${bound} and ${exact})` : exact;
  },
  between: (name, from, to, column) =>
    isText(column)
      ? `${bytesOf(name)} between ${boundBytes(from)} and ${boundBytes(to)}`
      : `${name} between ${from} and ${to}`,
  listsAreArrays: false,
  // Not by bytes: `_` is one character.
  like: (name, pattern) => `convert(${name} using utf8mb4) collate utf8mb4_bin like ${pattern} escape '\\'`,
  likeAnyCase: (name, pattern) =>
    `lower(convert(${name} using utf8mb4)) collate utf8mb4_bin like lower(${pattern}) escape '\\'`,
  isTrue: (name, keyword) => `${name} is ${keyword}`,
  contains: (name, part) => `json_contains(${name}, ${part})`,
  isContained: (name, whole) => `json_contains(${whole}, ${name})`,
  hasKey: (name, key) => `json_contains_path(${name}, 'one', concat('$.', json_quote(${key})))`,
  orderBy(name, column, descending) {
    const direction = descending ? ' desc' : '';
    const nulls = column.nullable ? `${name} is null${direction}, ` : '';
    return `${nulls}${comparable(name, column)}${direction}`;
  },
  sortKey: comparable,
  count: 'count(*)',
  nothing: '1',
  explain: null,
  mask: mysqlMaskSql,
  cast: (expression) => expression,
  double: (expression) => `(${expression} + 0e0)`,
  startOf,
  offset: (placeholder) => placeholder,
  returning: () => '',
  noValues: '() values ()',
};

function startOf(part: DatePart, name: string, { zone }: { zone: string | null }): string {
  const local = zone === null ? name : `convert_tz(${name}, '+00:00', ${zone})`;
  switch (part) {
    case 'year':
      return `makedate(year(${local}), 1)`;
    case 'quarter':
      return `(makedate(year(${local}), 1) + interval (quarter(${local}) - 1) quarter)`;
    case 'month':
      return `cast(date_format(${local}, '%Y-%m-01') as date)`;
    case 'week':
      return `(cast(${local} as date) - interval weekday(${local}) day)`;
    case 'day':
      return `cast(${local} as date)`;
    case 'hour':
      // Subtracted from the instant: an hour of local time may come twice.
      return (
        `timestamp(${name} - interval (minute(${local}) * 60 + second(${local})) second` +
        ` - interval microsecond(${name}) microsecond)`
      );
  }
}

function encode(value: string | null, type: ColumnType): string | null {
  if (value === null) return null;
  if (type === 'bool') return value === 'true' || value === 't' || value === '1' ? '1' : '0';
  if (type !== 'timestamptz') return value;
  const [, day = '', time = '', fraction = '', sign, hours, minutes] = timestampPattern.exec(value) ?? [];
  if (sign === undefined) return `${day} ${time}${fraction}`;
  const offset = (Number(hours) * 60 + Number(minutes ?? 0)) * (sign === '-' ? -1 : 1);
  const utc = new Date(Date.parse(`${day}T${time}Z`) - offset * 60_000).toISOString();
  return `${utc.slice(0, 10)} ${utc.slice(11, 19)}${fraction}`;
}

const timestampPattern = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(\.\d+)?(?:Z|([+-])(\d\d):?(\d\d)?)?$/;

const bullets = "'•••'";
const redactSql = (value: string) =>
  `regexp_replace(regexp_replace(${value}, '[0-9]', '0'), '[^\\x01-@\\[-\`{-~]|[A-Za-z]', 'x')`;

function mysqlMaskSql(mask: Mask, value: string, { type, keys, bind }: MaskContext): string {
  const text = `convert(cast(${value} as char) using utf8mb4)`;
  switch (mask.kind) {
    case 'null':
      return 'null';
    case 'constant':
      return castBound(bind(encode(constantText(mask), type) ?? '', 'text'), sqlTypes[type] ?? 'text');
    case 'redact':
      return redactSql(text);
    case 'hash': {
      const inner = `unhex(sha2(concat(${bind(keys.inner, 'bytea')}, cast(${hashedText(value, type)} as binary)), 256))`;
      return `sha2(concat(${bind(keys.outer, 'bytea')}, ${inner}), 256)`;
    }
    case 'partial': {
      const [first, last] = [countArg(mask.args.first), countArg(mask.args.last)];
      const ends = `concat(left(${text}, ${first}), ${bullets}, right(${text}, ${last}))`;
      return `case when char_length(${text}) > ${first + last} then ${ends} when ${value} is null then null else ${redactSql(text)} end`;
    }
    case 'email':
      return (
        `case when ${text} regexp '${addressPattern}' then concat(left(${text}, 1), ${bullets}, substr(${text}, instr(${text}, '@'))) ` +
        `when ${value} is null then null else ${redactSql(text)} end`
      );
    case 'round': {
      if (type === 'float') return roundFloatSql(value, mask.args, (text) => bind(text, 'float8'));
      const to = bind(String(mask.args.to), 'numeric');
      const rounded = `round(${value} / ${to}) * ${to}`;
      return `case when abs(${rounded}) < 9223372036854775807 then cast(${rounded} as signed) end`;
    }
    case 'truncate': {
      const unit = truncateUnitOf(mask.args);
      const start = { year: '%Y-01-01', month: '%Y-%m-01', day: '%Y-%m-%d' }[unit];
      const day = `date_format(${value}, '${start}')`;
      // A timestamp keeps its type, by which answers know its form.
      return type === 'date' ? `cast(${day} as date)` : `timestamp(${day})`;
    }
  }
}

const sqlTypes: Partial<Record<ColumnType, string>> = {
  int: 'int4',
  bigint: 'int8',
  float: 'float8',
  bool: 'bool',
  timestamptz: 'timestamptz',
  date: 'date',
};

/** Hashes of equal values are equal in every database, so the text has the form of PostgreSQL. */
function hashedText(value: string, type: ColumnType): string {
  if (type === 'bool') return `case when ${value} then 'true' when not ${value} then 'false' end`;
  if (type !== 'timestamptz') return `convert(cast(${value} as char) using utf8mb4)`;
  const full = `date_format(${value}, '%Y-%m-%d %H:%i:%s.%f')`;
  return `concat(trim(trailing '.' from trim(trailing '0' from ${full})), '+00')`;
}
