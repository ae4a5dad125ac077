import { type ChallengeAnswer, challengePrefix } from '../certificates/challenge-answer.ts';
import type { EdgeAnswer, EdgeRequest } from '../plumbing/edge-request.ts';
import { methodPage, notFoundPage, pageAnswer } from './plain-page.ts';

/** What proves to a certificate authority that a host is ours (RFC 8555, 8.3). */
export async function answerChallenge(
  challengeAnswer: ChallengeAnswer,
  { method, path }: Pick<EdgeRequest, 'method' | 'path'>,
): Promise<EdgeAnswer> {
  if (method !== 'GET' && method !== 'HEAD') return pageAnswer(methodPage, method);
  const token = path.slice(challengePrefix.length);
  const answer = await challengeAnswer(token);
  if (answer === null) return pageAnswer(notFoundPage, method);
  const body = new TextEncoder().encode(answer);
  return {
    status: 200,
    headers: {
      'content-type': 'application/octet-stream',
      'content-length': String(body.length),
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    },
    body: method === 'HEAD' ? null : body,
  };
}
