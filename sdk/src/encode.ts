export type Scalar = string | number | bigint | boolean | Date;

export function toText(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return value;
    case 'bigint':
    case 'boolean':
      return String(value);
    case 'number':
      return numberText(value);
    default:
      if (value instanceof Date) return value.toISOString();
      throw new TypeError(
        value === null || value === undefined
          ? `${value} cannot be compared; use .is(column, null).`
          : 'A value in a query is a string, number, bigint, boolean or Date.',
      );
  }
}

export function toItem(text: string): string {
  return /^[\w.:-]+$/.test(text) ? text : `"${text.replace(/["\\]/g, '\\$&')}"`;
}

/** Like `JSON.stringify`, but a bigint keeps its digits, and NaN and Infinity are errors instead of null. */
export function toJson(value: unknown): string {
  const json = jsonOf(value);
  if (json === undefined) throw new TypeError('This value cannot be written as JSON.');
  return json;
}

function jsonOf(value: unknown): string | undefined {
  if (typeof value === 'bigint') return String(value);
  if (typeof value === 'number') return numberText(value);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if ('toJSON' in value && typeof value.toJSON === 'function') return jsonOf(value.toJSON());
  if (Array.isArray(value)) return `[${value.map((item) => jsonOf(item) ?? 'null').join(',')}]`;
  const fields = Object.entries(value).flatMap(([name, item]) => {
    const json = jsonOf(item);
    return json === undefined ? [] : [`${JSON.stringify(name)}:${json}`];
  });
  return `{${fields.join(',')}}`;
}

function numberText(value: number): string {
  if (!Number.isFinite(value)) throw new TypeError(`${value} cannot be stored or compared.`);
  return Object.is(value, -0) ? '-0' : String(value);
}

export function toPathStep(value: Scalar): string {
  const text = toText(value);
  if (['', '.', '..'].includes(text)) throw new TypeError(`\`${text}\` cannot be part of a URL.`);
  return encodeURIComponent(text).replace(/^_/, '%5F');
}
