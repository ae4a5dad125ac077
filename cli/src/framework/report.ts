import type { ExitCode } from '@svc/contract/exit-codes.ts';
import type { Problem } from '@svc/contract/problem.ts';
import { sanitize } from './text.ts';

export interface Report {
  exit: ExitCode;
  problem: Omit<Problem, 'code' | 'errors'> & {
    code: string;
    /** `flag` is the argument of the command that a field of the request was made from. */
    errors?: (NonNullable<Problem['errors']>[number] & { flag?: string })[] | undefined;
    next?: string | undefined;
  };
}

/** JSON is a single line, so that programs find it after any progress lines. */
export function renderReport({ problem }: Report, format: 'json' | 'text'): string {
  return format === 'json' ? `${JSON.stringify(problem)}\n` : reportText(problem);
}

function reportText(problem: Report['problem']): string {
  const detail = problem.detail ?? problem.title ?? '';
  const items = (problem.errors ?? []).map((item) => {
    const line = item.line === undefined ? [] : [`line ${item.line}`];
    const where = [...line, item.flag ?? item.field ?? item.column ?? []].flat().join(', ');
    return `${where === '' ? '' : `${where}: `}${item.detail}`;
  });
  const rest = items.filter(
    (item, at) => !isSame(item, detail) && !(at === 0 && includesPosition(problem, detail)),
  );
  const lines = [`Error: ${sanitize(detail)} (${sanitize(problem.code)})`];
  lines.push(...rest.map((item) => `  ${sanitize(item)}`));
  if (problem.next !== undefined) lines.push(`Next: ${problem.next}`);
  if (problem.request_id !== '') lines.push(`Request id: ${sanitize(problem.request_id)}`);
  return `${lines.join('\n')}\n`;
}

/** The first item often repeats the whole message. */
function isSame(item: string, detail: string): boolean {
  const [a, b] = [item, detail].map((text) => text.replaceAll(/[\s.,:]/g, ''));
  return a === b;
}

/** A position such as `svc.yaml:7:3` in the message already contains the line of the first item. */
function includesPosition({ errors }: Report['problem'], detail: string): boolean {
  const [first] = errors ?? [];
  return first?.line !== undefined && detail.includes(`:${first.line}:`) && detail.endsWith(first.detail);
}
