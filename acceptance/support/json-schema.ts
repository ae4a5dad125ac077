type Schema = Readonly<Record<string, unknown>>;

/** The violations of a JSON Schema, for the keywords that `svc schema` uses; other keywords are an error. */
export function violations(schema: Schema, value: unknown, at = '$'): string[] {
  return Object.entries(schema).flatMap(([keyword, expected]) => {
    const check = checks[keyword];
    if (check === undefined) throw new Error(`The tests do not know the keyword ${keyword} (at ${at}).`);
    return check(expected as never, value, at, schema);
  });
}

type Check = (expected: never, value: unknown, at: string, schema: Schema) => string[];

const annotation: Check = () => [];
const checks: Readonly<Record<string, Check>> = {
  $schema: annotation,
  $id: annotation,
  title: annotation,
  description: annotation,
  default: annotation,
  format: annotation,
  readOnly: annotation,
  type: (type: string | string[], value, at) =>
    [type].flat().includes(typeOf(value)) || ([type].flat().includes('number') && typeof value === 'number')
      ? []
      : [`${at} is ${typeOf(value)}, not ${type}`],
  const: (expected: unknown, value, at) =>
    Bun.deepEquals(value, expected) ? [] : [`${at} is not ${JSON.stringify(expected)}`],
  enum: (list: unknown[], value, at) =>
    list.includes(value) ? [] : [`${at} is ${JSON.stringify(value)}, not one of ${list}`],
  anyOf: (options: Schema[], value, at) => {
    const found = options.map((option) => violations(option, value, at));
    return found.some((list) => list.length === 0) ? [] : found.flat();
  },
  required: (names: string[], value, at) =>
    names
      .filter((name) => isObject(value) && !Object.hasOwn(value, name))
      .map((name) => `${at}.${name} is missing`),
  properties: (properties: Record<string, Schema>, value, at) =>
    Object.entries(properties).flatMap(([name, schema]) =>
      isObject(value) && Object.hasOwn(value, name) ? violations(schema, value[name], `${at}.${name}`) : [],
    ),
  additionalProperties: (rule: boolean | Schema, value, at, { properties = {} }) => {
    if (!isObject(value)) return [];
    const others = Object.keys(value).filter((name) => !Object.hasOwn(properties as object, name));
    if (rule === true) return [];
    return others.flatMap((name) =>
      rule === false ? [`${at}.${name} is not expected`] : violations(rule, value[name], `${at}.${name}`),
    );
  },
  propertyNames: (schema: Schema, value, at) =>
    isObject(value) ? Object.keys(value).flatMap((name) => violations(schema, name, `${at}.${name}`)) : [],
  items: (schema: Schema, value, at) =>
    Array.isArray(value) ? value.flatMap((item, index) => violations(schema, item, `${at}[${index}]`)) : [],
  maxItems: (max: number, value, at) =>
    !Array.isArray(value) || value.length <= max ? [] : [`${at} has more than ${max} items`],
  pattern: (pattern: string, value, at) =>
    typeof value !== 'string' || new RegExp(pattern, 'u').test(value)
      ? []
      : [`${at} does not match ${pattern}`],
  minLength: (min: number, value, at) =>
    typeof value !== 'string' || [...value].length >= min ? [] : [`${at} is too short`],
  maxLength: (max: number, value, at) =>
    typeof value !== 'string' || [...value].length <= max ? [] : [`${at} is too long`],
  minimum: (min: number, value, at) =>
    typeof value !== 'number' || value >= min ? [] : [`${at} is below ${min}`],
  maximum: (max: number, value, at) =>
    typeof value !== 'number' || value <= max ? [] : [`${at} is above ${max}`],
};

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return Number.isInteger(value) ? 'integer' : typeof value;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeOf(value) === 'object';
}
