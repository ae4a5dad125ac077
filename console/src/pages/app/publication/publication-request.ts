import type { Answer } from '@svc/contract/endpoint.ts';
import type { getPublication } from '@svc/contract/review.ts';

export type PublicationRequest = Answer<NonNullable<typeof getPublication.shape>>;

export function hasPending(requests: readonly Pick<PublicationRequest, 'status'>[]): boolean {
  return requests.some(({ status }) => status === 'pending');
}
