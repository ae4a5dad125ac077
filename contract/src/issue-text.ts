import type { z } from 'zod';

export function issueText(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.input === undefined) return 'is required';
      return `must be ${kinds[issue.expected] ?? `of type ${issue.expected}`}`;
    case 'invalid_value':
      return `must be ${issue.values.length > 1 ? 'one of ' : ''}${issue.values.map(String).join(', ')}`;
    case 'too_small':
      if (issue.minimum === 1 && isCounted(issue.origin)) return 'must not be empty';
      return bound(issue.origin, issue.inclusive === false ? 'more than' : 'at least', issue.minimum);
    case 'too_big':
      return bound(issue.origin, issue.inclusive === false ? 'less than' : 'at most', issue.maximum);
    case 'invalid_format':
      return formats[issue.format] ?? 'is not of the form that is expected';
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`;
    case 'invalid_union':
      return 'has none of the accepted forms';
    default:
      return undefined;
  }
}

const kinds: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  null: 'null',
};

const formats: Readonly<Record<string, string>> = {
  uuid: 'must be a UUID',
  guid: 'must be a UUID',
  email: 'must be an e-mail address',
  url: 'must be a URL',
  datetime: 'must be a time such as 2026-01-31T00:00:00Z',
  date: 'must be a date such as 2026-01-31',
};

const units: Readonly<Record<string, string>> = { string: 'characters', array: 'items', set: 'items' };

const isCounted = (origin: string): boolean => units[origin] !== undefined;

function bound(origin: string, how: string, limit: number | bigint): string {
  const unit = units[origin];
  return unit === undefined ? `must be ${how} ${limit}` : `must have ${how} ${limit} ${unit}`;
}
