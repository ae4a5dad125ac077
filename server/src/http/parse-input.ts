import { issueText } from '@svc/contract/issue-text.ts';
import type { ProblemItem } from '@svc/contract/problem.ts';
import { z } from 'zod';
import { fail } from '../core/problem.ts';

const itemsMax = 100;

export function parseParams(schema: z.ZodType | undefined, params: Record<string, string>): unknown {
  if (!schema) return undefined;
  const result = schema.safeParse(params);
  if (result.success) return result.data;
  // An id that cannot exist is `not_found`, like an id that does not exist.
  throw fail('not_found');
}

export function parseQuery(schema: z.ZodType | undefined, query: URLSearchParams): unknown {
  // Without a prototype, because a parameter may be named `__proto__`.
  const values: Record<string, string> = Object.create(null);
  for (const [name, value] of query) {
    if (Object.hasOwn(values, name)) {
      const errors = [{ field: name, code: 'duplicate', detail: 'must appear only once' }];
      throw fail('validation_failed', { detail: `Duplicate parameter: ${name}.`, errors });
    }
    values[name] = value;
  }
  const result = (schema ?? z.strictObject({})).safeParse(values, { error: issueText });
  if (result.success) return schema ? result.data : undefined;
  const unknown = result.error.issues.find((issue) => issue.code === 'unrecognized_keys');
  if (unknown?.code === 'unrecognized_keys') {
    const item = { code: 'unknown_parameter', detail: 'is not a known parameter' };
    const errors = unknown.keys.map((field) => ({ field, ...item }));
    throw fail('unknown_parameter', { detail: `Unknown parameter: ${unknown.keys.join(', ')}.`, errors });
  }
  throw invalidInputError(result.error);
}

export function parseBody(schema: z.ZodType | undefined, body: unknown): unknown {
  if (!schema) {
    if (body === undefined) return undefined;
    throw fail('validation_failed', { detail: 'This endpoint accepts no body.' });
  }
  const result = schema.safeParse(body, { error: issueText });
  if (result.success) return result.data;
  throw invalidInputError(result.error);
}

function invalidInputError(error: z.ZodError) {
  const items = problemItems(error.issues, []).slice(0, itemsMax);
  const first = items[0];
  return fail('validation_failed', {
    detail: first ? `${first.field}: ${first.detail}` : 'The input is not valid.',
    errors: items,
  });
}

function problemItems(issues: readonly z.core.$ZodIssue[], prefix: readonly PropertyKey[]): ProblemItem[] {
  return issues.flatMap((issue) => {
    const path = [...prefix, ...issue.path];
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => problemItem([...path, key], 'unknown_field', 'is not a known field'));
    }
    if (issue.code === 'invalid_union') {
      // Report the branch that matched furthest: it is most likely the intended one.
      const branches = issue.errors.filter((branch) => branch.length > 0);
      const deepest = branches.sort((a, b) => issueDepth(b) - issueDepth(a))[0];
      return deepest ? problemItems(deepest, path) : [problemItem(path, 'invalid', issue.message)];
    }
    return [problemItem(path, issueCode(issue), issue.message)];
  });
}

function issueCode(issue: z.core.$ZodIssue): string {
  if (issue.code !== 'custom') return issue.code;
  return typeof issue.params?.code === 'string' ? issue.params.code : 'invalid';
}

function issueDepth(issues: readonly z.core.$ZodIssue[]): number {
  return Math.max(...issues.map((issue) => issue.path.length + (issue.code === 'invalid_type' ? 0 : 1)));
}

function problemItem(path: readonly PropertyKey[], code: string, detail: string): ProblemItem {
  return { field: path.map(String).join('.') || 'body', code, detail };
}
