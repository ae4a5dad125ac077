import { faultsInOrder, faultText, type ManifestFault } from '@svc/contract/manifest-faults.ts';
import type { ProblemItem } from '@svc/contract/problem.ts';
import { AdvisedProblem } from './errors.ts';

const faultsShownMax = 20;

/** The server would answer the same; the first fault is the message, in the form that editors can follow. */
export function manifestError(file: string, faults: readonly ManifestFault[]): AdvisedProblem {
  const inOrder = faultsInOrder(faults);
  const [first] = inOrder;
  const problem = {
    type: 'about:blank',
    title: 'svc.yaml is not as it should be',
    status: 400,
    detail: first === undefined ? `${file} can not be used.` : faultText(file, first),
    code: 'validation_failed' as const,
    request_id: '',
    errors: inOrder.slice(0, faultsShownMax).map(itemOf),
  };
  return new AdvisedProblem(problem, `Correct ${file}; svc init --print shows what one looks like.`);
}

function itemOf({ line, field, code, detail }: ManifestFault): ProblemItem {
  return { ...(field !== '' && { field }), line, code, detail };
}
