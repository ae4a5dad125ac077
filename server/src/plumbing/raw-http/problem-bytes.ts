import type { EdgeAnswer } from '../../edge/edge-request.ts';
import { type Failure, problemAnswer } from '../problem.ts';

/** For what went wrong before anybody could say it in a nicer way. */
export function problemBytes(failure: Failure, requestId: string): EdgeAnswer {
  const { status, headers, body } = problemAnswer(failure, requestId);
  const bytes = Buffer.from(body);
  const more = { 'content-length': String(bytes.length), 'x-content-type-options': 'nosniff' };
  return { status, headers: { ...headers, ...more }, body: bytes };
}
