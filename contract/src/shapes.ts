import { z } from 'zod';
import { perPageDefault, perPageMax, slugPattern, uuidPattern } from './limits.ts';
import { isBlank, isSafeName, safeNameExpected } from './safe-names.ts';

export const uuid = z
  .string()
  .regex(uuidPattern, 'must be a UUID')
  .transform((value) => value.toLowerCase())
  .meta({ type: 'string', format: 'uuid', description: 'A UUID; version 7 where the service makes it.' });

/** PostgreSQL stores no NUL, and would replace a lone surrogate, which breaks the audit hash. */
export const text = z
  .string()
  .refine((value) => value.isWellFormed(), { error: 'must be well-formed Unicode' })
  .refine((value) => !value.includes('\u0000'), { error: 'must not contain a NUL character' });

export const ref = text.min(1).max(200).meta({ description: 'An id (UUID) or a slug.' });

export const timestamp = z.string().meta({ format: 'date-time', description: 'RFC 3339, UTC.' });

/** RFC 3339 as input: date, time and offset, nothing looser. */
const timeExpected = 'must be an RFC 3339 time, e.g. 2027-01-31T12:00:00Z';
const rfc3339 = z.iso.datetime({ offset: true });

/** The RFC allows `t` and `z` in lower case; an empty text stands for none. */
export const instantOrNone = z
  .string({ error: timeExpected })
  .transform((value) => value.toUpperCase())
  .refine((value) => value === '' || rfc3339.safeParse(value).success, { error: timeExpected });

export const slug = z
  .string()
  .regex(slugPattern, 'must be 2 to 63 of a-z, 0-9 and -, begin with a letter and not end with -')
  // An id and a slug are accepted in the same place.
  .refine((value) => !uuidPattern.test(value), { error: 'must not have the form of a UUID' });

export const tenantParams = z.object({ tenantID: ref });

export const pageQuery = z.strictObject({
  page: wholeNumber(1, 1_000_000).default(1),
  per_page: wholeNumber(1, perPageMax).default(perPageDefault),
});

export function page<T extends z.ZodType>(item: T) {
  return z.object({
    items: z.array(item),
    page: z.int(),
    per_page: z.int(),
    total: z.int(),
  });
}

/** A whole number in a query string: digits only, so that `1e3`, ` 1` and `0x1` are refused. */
export function wholeNumber(min: number, max: number) {
  return z
    .string()
    .regex(/^\d{1,9}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.int().min(min).max(max))
    .or(z.int().min(min).max(max))
    .meta({ type: 'integer', minimum: min, maximum: max });
}

export function chars(min: number, max: number) {
  return text
    .refine((value) => withinChars(value, min, max), { error: `must be ${min} to ${max} characters` })
    .refine((value) => min === 0 || !isBlank(value), { error: 'must not be blank' })
    .meta({ minLength: min, maxLength: max });
}

/** A name that people choose and others read. */
export function displayName(min: number, max: number) {
  return chars(min, max)
    .refine(isSafeName, { error: safeNameExpected })
    .meta({ minLength: min, maxLength: max });
}

function withinChars(text: string, min: number, max: number): boolean {
  if (text.length > max * 8) return false;
  const count = [...text].length;
  return count >= min && count <= max;
}

export const unchanged = z.literal(false).optional();

export const empty = z.undefined().meta({ description: 'No body.' });

/** The body of an update: all settings are optional, and at least one is present. */
export function someOf<T extends z.ZodRawShape>(settings: T) {
  return z
    .strictObject(settings)
    .partial()
    .refine((body) => Object.keys(body).length > 0, { error: 'must change something' });
}
