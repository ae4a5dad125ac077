import { issueText } from '@svc/contract/issue-text.ts';
import type { ProblemItem } from '@svc/contract/problem.ts';
import { z } from 'zod';
import { fail } from './problem.ts';

const itemsMax = 100;

/** Against the contract, before anything else sees it. Refusals name every place, not only the first. */
export function parseParams(schema: z.ZodType | undefined, params: Record<string, string>): unknown {
  if (!schema) return undefined;
  const result = schema.safeParse(params);
  if (result.success) return result.data;
  // A path whose id can not exist is a path to nothing.
  throw fail('not_found');
}

export function parseQuery(schema: z.ZodType | undefined, query: URLSearchParams): unknown {
  // Without a prototype: a parameter may bear any name, `__proto__` too.
  const values: Record<string, string> = Object.create(null);
  for (const [name, value] of query) {
    if (Object.hasOwn(values, name)) {
      throw fail('validation_failed', {
        detail: `${name} is given twice.`,
        errors: [{ field: name, code: 'duplicate', detail: 'is given twice' }],
      });
    }
    values[name] = value;
  }
  const result = (schema ?? z.strictObject({})).safeParse(values, { error: issueText });
  if (result.success) return schema ? result.data : undefined;
  const unknown = result.error.issues.find((issue) => issue.code === 'unrecognized_keys');
  if (unknown?.code === 'unrecognized_keys') {
    const names = unknown.keys.join(', ');
    throw fail('unknown_parameter', {
      detail: `Not known here: ${names}.`,
      errors: unknown.keys.map((field) => ({
        field,
        code: 'unknown_parameter',
        detail: 'is not known here',
      })),
    });
  }
  throw invalidInput(result.error);
}

export function parseBody(schema: z.ZodType | undefined, body: unknown): unknown {
  if (!schema) {
    if (body === undefined) return undefined;
    throw fail('validation_failed', { detail: 'This endpoint takes no body.' });
  }
  const result = schema.safeParse(body, { error: issueText });
  if (result.success) return result.data;
  throw invalidInput(result.error);
}

function invalidInput(error: z.ZodError) {
  const items = itemsOf(error.issues, []).slice(0, itemsMax);
  const first = items[0];
  return fail('validation_failed', {
    detail: first ? `${first.field}: ${first.detail}` : 'The input does not fit.',
    errors: items,
  });
}

function itemsOf(issues: readonly z.core.$ZodIssue[], prefix: readonly PropertyKey[]): ProblemItem[] {
  return issues.flatMap((issue) => {
    const path = [...prefix, ...issue.path];
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => item([...path, key], 'unknown_field', 'is not known here'));
    }
    if (issue.code === 'invalid_union') {
      // The branch that got furthest is the one that was meant.
      const branches = issue.errors.filter((branch) => branch.length > 0);
      const deepest = branches.sort((a, b) => depth(b) - depth(a))[0];
      return deepest ? itemsOf(deepest, path) : [item(path, 'invalid', issue.message)];
    }
    return [item(path, issue.code === 'custom' ? codeOf(issue) : issue.code, issue.message)];
  });
}

/** A rule of a shape's own may say by which code it is known. */
function codeOf({ params }: z.core.$ZodIssueCustom): string {
  return typeof params?.code === 'string' ? params.code : 'invalid';
}

function depth(issues: readonly z.core.$ZodIssue[]): number {
  return Math.max(...issues.map((issue) => issue.path.length + (issue.code === 'invalid_type' ? 0 : 1)));
}

function item(path: readonly PropertyKey[], code: string, detail: string): ProblemItem {
  return { field: path.map(String).join('.') || 'body', code, detail };
}
