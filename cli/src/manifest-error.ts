import type { ProblemItem } from '@svc/contract/problem.ts';
import { AdvisedProblem } from './errors.ts';

/** What is wrong with `svc.yaml`, and where. */
export interface ManifestFault {
  /** Both from 1. */
  line: number;
  col: number;
  /** Dotted: `app.slug`; empty for the file as a whole. */
  field: string;
  code: string;
  detail: string;
}

const faultsShownMax = 20;

/** The server would answer the same; the first fault is the message, in the form that editors can follow. */
export function manifestError(file: string, faults: readonly ManifestFault[]): AdvisedProblem {
  const inOrder = [...faults].sort((a, b) => a.line - b.line || a.col - b.col);
  const [first] = inOrder;
  const problem = {
    type: 'about:blank',
    title: 'svc.yaml is not as it should be',
    status: 400,
    detail:
      first === undefined
        ? `${file} can not be used.`
        : `${file}:${first.line}:${first.col}: ${sentence(first)}`,
    code: 'validation_failed' as const,
    request_id: '',
    errors: inOrder.slice(0, faultsShownMax).map(itemOf),
  };
  return new AdvisedProblem(problem, `Correct ${file}; svc init --print shows what one looks like.`);
}

/** An unknown key is named by what is said about it. */
function sentence({ field, code, detail }: ManifestFault): string {
  return field === '' || code === 'unknown_key' ? detail : `${field} ${detail}`;
}

function itemOf({ line, field, code, detail }: ManifestFault): ProblemItem {
  return { ...(field !== '' && { field }), line, code, detail };
}
