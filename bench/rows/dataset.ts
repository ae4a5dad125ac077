/** Declares `created_at` and `updated_at`, so that the server adds no columns. */
export const columns = [
  'id:uuid',
  'title:text',
  'category:int',
  'price:float',
  'active:bool',
  'meta:jsonb',
  'created_at:timestamptz',
  'updated_at:bigint',
] as const;
export const rowCount = 100_000;
export const categories = 100;
export const indexColumns = ['category', 'created_at'] as const;

export interface Item {
  id: string;
  title: string;
  category: number;
  price: number;
  active: boolean;
  meta: { colour: string; tags: string[]; size: number };
  created_at: string;
  updated_at: number;
}

const firstTime = Date.UTC(2026, 0, 1);
const colours = ['red', 'green', 'blue', 'yellow'];

/** Every contender gets the same rows; the id is computed from the number, also in SQL. */
export function item(number: number): Item {
  return {
    id: formatId(number),
    title: `Item number ${number} of a long list of things`,
    category: (number * 7919) % categories,
    price: (number % 4000) / 4 + 0.1,
    active: number % 3 === 0,
    meta: { colour: colours[number % 4] ?? '', tags: ['new', 'sold'], size: number % 50 },
    created_at: new Date(firstTime + number * 60_000).toISOString(),
    updated_at: firstTime + number,
  };
}

export function formatId(number: number): string {
  const digits = number.toString(16).padStart(32, '0');
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

export const idSql = (number: string) => `lpad(to_hex(${number}), 32, '0')::uuid`;

export function jsonLines(from: number, count: number, ids: 'numbered' | 'generated'): string {
  let text = '';
  for (let number = from; number < from + count; number++) {
    const { id, ...rest } = item(number);
    text += `${JSON.stringify(ids === 'numbered' ? { id, ...rest } : rest)}\n`;
  }
  return text;
}

export function copyLines(
  from: number,
  count: number,
  options: { ids: 'numbered' | 'generated'; version?: string },
): string {
  let text = '';
  for (let number = from; number < from + count; number++) {
    const row = item(number);
    const id = options.ids === 'numbered' ? row.id : Bun.randomUUIDv7();
    const values = [
      id,
      row.title,
      row.category,
      row.price,
      row.active,
      JSON.stringify(row.meta),
      row.created_at,
      row.updated_at,
    ];
    text += `${values.join('\t')}${options.version === undefined ? '' : `\t${options.version}`}\n`;
  }
  return text;
}
