import { type maskKinds, truncateUnits } from '@svc/contract/access-policies.ts';
import { decimalDigits } from '@svc/contract/column-families.ts';
import { type ColumnType, describeColumnType } from '@svc/contract/columns.ts';
import { isFileType } from '@svc/contract/file-type.ts';
import { truncateUnit } from '../../access/policies/rules.ts';
import { parseText } from '../tables/values.ts';

export interface Mask {
  kind: (typeof maskKinds)[number];
  args: Readonly<Record<string, unknown>>;
}

const strictness: Readonly<Record<Mask['kind'], number>> = {
  round: 0,
  truncate: 0,
  partial: 1,
  email: 1,
  hash: 2,
  redact: 3,
  constant: 4,
  null: 5,
};

const rank = (mask: Mask | null) => (mask === null ? -1 : strictness[mask.kind]);

/** A name and the end of its address; more than a mask of characters usually shows. */
const emailCharsShown = 12;

function measureHidden(mask: Mask | null): number {
  const args = mask?.args ?? {};
  if (mask?.kind === 'round') return Number(args.to);
  if (mask?.kind === 'truncate') return -truncateUnits.indexOf(truncateUnitOf(args));
  if (mask?.kind === 'partial') return -(countArg(args.first) + countArg(args.last));
  return mask?.kind === 'email' ? -emailCharsShown : 0;
}

export function compareStrictness(one: Mask | null, other: Mask | null): number {
  return rank(one) - rank(other) || measureHidden(one) - measureHidden(other);
}

export function stricter(one: Mask | null, other: Mask | null): Mask | null {
  if (!one || !other || rank(one) !== rank(other)) return rank(one) > rank(other) ? one : other;
  const partial = [one, other].filter(({ kind }) => kind === 'partial');
  if (partial.length === 2) {
    const least = (end: 'first' | 'last') => Math.min(...partial.map(({ args }) => countArg(args[end])));
    return { kind: 'partial', args: { first: least('first'), last: least('last') } };
  }
  const [some] = partial;
  if (some) {
    // The other one is `email`, which shows the first character and all from the @ on.
    const showsLess = countArg(some.args.first) <= 1 && countArg(some.args.last) === 0;
    return showsLess ? some : { kind: 'redact', args: {} };
  }
  return compareStrictness(one, other) > 0 ? one : other;
}

const sqlTypeOf = (type: ColumnType) => describeColumnType(type).sql;
const numbers: readonly ColumnType[] = ['int', 'bigint', 'float', 'autonumber'];
const isNumber = (type: ColumnType) => numbers.includes(type) || decimalDigits(type) !== null;
const times: readonly ColumnType[] = ['timestamptz', 'date'];

export function maskProblem(mask: Mask, type: ColumnType): string | null {
  switch (mask.kind) {
    case 'null':
      return null;
    case 'hash':
      return sqlTypeOf(type) === 'jsonb' ? `hash does not fit a column of type ${type}` : null;
    case 'constant': {
      if (isFileType(type)) return 'constant does not fit a column of files';
      const value = parseText(type, constantText(mask));
      return value.ok ? null : `the constant does not fit the column: it ${value.detail}`;
    }
    case 'redact':
    case 'partial':
    case 'email':
      return type === 'text' ? null : `${mask.kind} fits columns of type text only`;
    case 'round':
      return isNumber(type) ? null : 'round fits columns of numbers only';
    case 'truncate':
      return times.includes(type) ? null : 'truncate fits columns of type timestamptz and date only';
  }
}

export const truncateUnitOf = (args: Mask['args']) =>
  truncateUnits.find((each) => each === truncateUnit(args)) ?? 'year';
export const constantText = ({ args }: Mask) => String(args.value ?? args.text ?? '');
export const countArg = (value: unknown) => (typeof value === 'number' ? value : 0);

export function maskedType({ kind }: Mask, type: ColumnType): ColumnType {
  if (kind === 'hash') return 'text';
  return kind === 'round' && (type === 'int' || type === 'autonumber') ? 'bigint' : type;
}

export interface HashKeys {
  inner: string;
  outer: string;
}

/** Equal values have equal hashes within a tenant only. */
export function tenantHashKeys(key: string, tenantId: string): HashKeys {
  return hashKeys(new Bun.CryptoHasher('sha256', key).update(tenantId).digest());
}

export function hashKeys(secret: Uint8Array): HashKeys {
  const block = Buffer.alloc(64);
  block.set(secret);
  const padKey = (byte: number) => `\\x${block.map((value) => value ^ byte).toHex()}`;
  return { inner: padKey(0x36), outer: padKey(0x5c) };
}

export interface MaskContext {
  type: ColumnType;
  keys: HashKeys;
  bind(value: string, sqlType: string): string;
}

const bullets = "'•••'";

/** Other texts, such as a name and an address, are redacted: they would be shown from the @ on. */
export const addressPattern = '^[^@[:space:]]+@[^@[:space:]]+$';

/** Text in which letters are x and digits 0; every character beyond ASCII counts as a letter. */
const redactSql = (value: string) =>
  `regexp_replace(regexp_replace(${value}, '[0-9]', '0', 'g'), '[^\\u0001-@\\[-\`{-~]|[A-Za-z]', 'x', 'g')`;

export function maskSql({ kind, args }: Mask, value: string, { type, keys, bind }: MaskContext): string {
  const sqlType = describeColumnType(type).sql;
  switch (kind) {
    case 'null':
      return `null::${sqlType}`;
    case 'constant': {
      const value = parseText(type, constantText({ kind, args }));
      return bind(value.ok ? value.value : constantText({ kind, args }), sqlType);
    }
    case 'redact':
      return redactSql(value);
    case 'hash': {
      const inner = `sha256(${bind(keys.inner, 'bytea')} || convert_to(${value}::text, 'UTF8'))`;
      return `encode(sha256(${bind(keys.outer, 'bytea')} || ${inner}), 'hex')`;
    }
    case 'partial': {
      const [first, last] = [countArg(args.first), countArg(args.last)];
      const ends = `left(${value}, ${first}) || ${bullets} || right(${value}, ${last})`;
      return `case when char_length(${value}) > ${first + last} then ${ends} else ${redactSql(value)} end`;
    }
    case 'email':
      return (
        `case when ${value} ~ '${addressPattern}' then left(${value}, 1) || ${bullets} || ` +
        `substring(${value} from position('@' in ${value})) else ${redactSql(value)} end`
      );
    case 'round':
      return type === 'float'
        ? roundFloatSql(value, args, (text) => bind(text, 'float8'))
        : roundSql(value, type, bind(String(args.to), 'numeric'));
    case 'truncate': {
      const unit = truncateUnitOf(args);
      return `date_trunc('${unit}', ${value})${type === 'date' ? '::date' : ''}`;
    }
  }
}

/** A quotient out of range becomes null, never an error. The limits are literals, to which exact numbers of connectors compare. */
export function roundFloatSql(value: string, { to }: Mask['args'], bind: (text: string) => string): string {
  const [half, limit] = [Number(to) / 2, Math.min(Number(to), 1) * 1e307];
  const step = bind(String(to));
  return (
    `case when abs(${value}) < ${half} then ${step} * 0` +
    ` when abs(${value}) < ${limit} then round(${value} / ${step}) * ${step} end`
  );
}

/** Values near the end of the range have no rounded value: they become null, never an error. */
function roundSql(value: string, type: ColumnType, to: string): string {
  const decimal = decimalDigits(type);
  if (decimal) return `round(round(${value} / ${to}) * ${to}, ${decimal.scale})`;
  const rounded = `round(${value} / ${to}) * ${to}`;
  return `case when abs(${rounded}) < 9223372036854775807 then (${rounded})::int8 end`;
}
