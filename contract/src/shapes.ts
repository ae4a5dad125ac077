import { z } from 'zod';
import { perPageDefault, perPageMax, slugPattern, uuidPattern } from './limits.ts';

/** Shapes that several nouns use. */

export const uuid = z
  .string()
  .regex(uuidPattern, 'must be a UUID')
  .transform((value) => value.toLowerCase())
  .meta({ format: 'uuid', description: 'A UUID (version 7 when made here).' });

/**
 * The base of everything that is written by people and stored: PostgreSQL holds no NUL, and a lone surrogate would be
 * stored as another character than the one that was sent (and hashed into the audit chain).
 */
export const text = z
  .string()
  .refine((value) => value.isWellFormed(), { error: 'must be well-formed Unicode' })
  .refine((value) => !value.includes('\u0000'), { error: 'must not contain a NUL character' });

/** A path parameter that names a thing by its id or by its slug. */
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
  // Things are named by id or by slug in the same place.
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

/** Length by character as people count them, not by UTF-16 unit. */
export function chars(min: number, max: number) {
  return text
    .refine((value) => withinChars(value, min, max), { error: `must be ${min} to ${max} characters` })
    .refine((value) => min === 0 || value.replace(/[\s\p{Cf}]/gu, '') !== '', { error: 'must not be blank' })
    .meta({ minLength: min, maxLength: max });
}

function withinChars(text: string, min: number, max: number): boolean {
  if (text.length > max * 8) return false;
  const count = [...text].length;
  return count >= min && count <= max;
}

/** Beside a record in the answer to a repeat that changed nothing; absent when something did. */
export const unchanged = z.literal(false).optional();

export const empty = z.undefined().meta({ description: 'No body.' });
