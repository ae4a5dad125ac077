import type { ProblemItem } from '@svc/contract/problem.ts';
import { AdvisedProblem } from '../errors.ts';

export interface LineFault extends ProblemItem {
  line: number;
}

/** Lines that this side finds wrong, told as the server tells those that it finds. */
export function refusedLines(faults: readonly LineFault[], next: string): AdvisedProblem {
  return new AdvisedProblem(
    {
      type: 'about:blank',
      title: 'Rejected input',
      status: 400,
      detail:
        faults.length === 1 ? 'A line of the file can not be used.' : 'Lines of the file can not be used.',
      code: 'validation_failed',
      request_id: '',
      errors: [...faults],
    },
    next,
  );
}
