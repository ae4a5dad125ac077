import type { Answer } from '@svc/contract/endpoint.ts';
import { approveReview, type getReview, rejectReview, withdrawReview } from '@svc/contract/review.ts';
import { type Caller, whyNot } from '../../api/me.ts';

export type Review = Answer<NonNullable<typeof getReview.shape>>;

export const reviewKindTexts: Readonly<Record<Review['kind'], string>> = {
  publication: 'Publication',
  promotion: 'Promotion',
  deployment: 'Deployment',
};

interface ReviewRequest {
  status: string;
  requested_by: string;
}
type Reviewer = Caller & { id: string };

const closedReason = (status: string) => `The request is already ${status}. Create a new one if needed.`;

export function whyNotApprove(
  { status, requested_by }: ReviewRequest,
  person: Reviewer,
  refusal: string | null,
): string | null {
  if (status !== 'pending') return closedReason(status);
  const isAdmin = whyNot(approveReview, person) === null;
  if (!isAdmin && requested_by === person.id)
    return 'You made this request. A tenant admin other than you decides.';
  return whyNot(approveReview, person) ?? refusal;
}

export function whyNotReject({ status, requested_by }: ReviewRequest, person: Reviewer): string | null {
  if (status !== 'pending') return closedReason(status);
  if (requested_by === person.id) return 'You made this request. Withdraw it instead.';
  return whyNot(rejectReview, person);
}

export function whyNotWithdraw({ status, requested_by }: ReviewRequest, person: Reviewer): string | null {
  if (status !== 'pending') return closedReason(status);
  if (requested_by === person.id) return null;
  const reason = whyNot(withdrawReview, person);
  return reason && `${reason} You can reject it instead.`;
}

export function versionText(version: Review['diff']['after']): string {
  if (version === null) return 'nothing';
  const { deployment, release, version: label } = version;
  const parts = [
    deployment === null ? '' : `deployment #${deployment}`,
    release === null ? '' : `release #${release}`,
    label,
  ];
  return parts.filter(Boolean).join(', ');
}

export function commitText({ before, after }: Review['diff']): string | null {
  if (!after?.commit_sha) return null;
  const to = after.commit_sha.slice(0, 12);
  const from = before?.commit_sha?.slice(0, 12);
  return from === undefined || from === to ? to : `${from}..${to}`;
}
