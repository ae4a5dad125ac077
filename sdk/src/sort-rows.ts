type Row = Record<string, unknown>;
type Types = Readonly<Record<string, string>>;

export interface SortKey {
  name: string;
  descending: boolean;
}

/** The order of the server: null last, or first where it descends; texts by their code points. */
export function compareRows(keys: readonly SortKey[], types: Types): (one: Row, other: Row) => number {
  return (one, other) => {
    for (const { name, descending } of keys) {
      const order = compareValues(one[name] ?? null, other[name] ?? null, types[name] ?? '');
      if (order !== 0) return descending ? -order : order;
    }
    return 0;
  };
}

function compareValues(one: unknown, other: unknown, type: string): number {
  if (one === null || other === null) return Number(one === null) - Number(other === null);
  if (/^(?:int|bigint|float|autonumber|decimal.*)$/.test(type)) return compareNumbers(one, other);
  if (typeof one === 'string' && typeof other === 'string')
    // `05Z` is before `05.6Z`.
    return type === 'timestamptz'
      ? compareTexts(one.slice(0, -1), other.slice(0, -1))
      : compareTexts(one, other);
  if (typeof one === 'object') return compareTexts(JSON.stringify(one), JSON.stringify(other));
  return Number(one) - Number(other);
}

/** Numbers with more digits than JavaScript keeps are texts. */
function compareNumbers(one: unknown, other: unknown): number {
  if (typeof one === 'number' && typeof other === 'number') return one - other;
  const [a, b] = [String(one).split('.'), String(other).split('.')];
  const digits = Math.max(a[1]?.length ?? 0, b[1]?.length ?? 0);
  const scaled = ([whole = '', fraction = '']: string[]) => BigInt(whole + fraction.padEnd(digits, '0'));
  const [left, right] = [scaled(a), scaled(b)];
  return left < right ? -1 : Number(left > right);
}

/** Compares code points, not UTF-16 units: characters beyond U+FFFF come last. */
function compareTexts(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  for (let at = 0; at < length; at++) {
    const [a, b] = [one.charCodeAt(at), other.charCodeAt(at)];
    if (a !== b) return rank(a) - rank(b);
  }
  return one.length - other.length;
}

const rank = (unit: number) => (unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit);
