import type { ColumnType } from '@svc/contract/columns.ts';
import type { DatePart } from '@svc/contract/rows.ts';
import type { CatalogueColumn } from '../tables/catalogue.ts';
import type { Dialect } from './dialect.ts';
import { constantText, countArg, type Mask, type MaskContext, truncateUnitOf } from './masks.ts';

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

function typed(placeholder: string, sqlType: string): string {
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
  typed,
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
  like: (name, pattern) => `${bytesOf(name)} like ${boundBytes(pattern)} escape '\\'`,
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
  mask: maskSql,
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
const redacted = (value: string) =>
  `regexp_replace(regexp_replace(${value}, '[0-9]', '0'), '[^\\x01-@\\[-\`{-~]|[A-Za-z]', 'x')`;

function maskSql(mask: Mask, value: string, { type, keys, bind }: MaskContext): string {
  const text = `convert(cast(${value} as char) using utf8mb4)`;
  switch (mask.kind) {
    case 'null':
      return 'null';
    case 'constant':
      return typed(bind(encode(constantText(mask), type) ?? '', 'text'), sqlTypes[type] ?? 'text');
    case 'redact':
      return redacted(text);
    case 'hash': {
      const inner = `unhex(sha2(concat(${bind(keys.inner, 'bytea')}, cast(${hashedText(value, type)} as binary)), 256))`;
      return `sha2(concat(${bind(keys.outer, 'bytea')}, ${inner}), 256)`;
    }
    case 'partial': {
      const [first, last] = [countArg(mask.args.first), countArg(mask.args.last)];
      const kept = `concat(left(${text}, ${first}), ${bullets}, right(${text}, ${last}))`;
      return `case when char_length(${text}) > ${first + last} then ${kept} when ${value} is null then null else ${redacted(text)} end`;
    }
    case 'email':
      return (
        `case when ${text} like '_%@%' then concat(left(${text}, 1), ${bullets}, substr(${text}, instr(${text}, '@'))) ` +
        `when ${value} is null then null else ${redacted(text)} end`
      );
    case 'round': {
      const to = bind(String(mask.args.to), type === 'float' ? 'float8' : 'numeric');
      const rounded = `round(${value} / ${to}) * ${to}`;
      if (type === 'float') return rounded;
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
