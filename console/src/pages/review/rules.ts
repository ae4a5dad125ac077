import { approvePublication, rejectPublication, withdrawPublication } from '@svc/contract/review.ts';
import { type Caller, whyNot } from '../../api/me.ts';

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
  const isAdmin = whyNot(approvePublication, person) === null;
  if (!isAdmin && requested_by === person.id)
    return 'You made this request. A tenant admin other than you decides.';
  return whyNot(approvePublication, person) ?? refusal;
}

export function whyNotReject({ status, requested_by }: ReviewRequest, person: Reviewer): string | null {
  if (status !== 'pending') return closedReason(status);
  if (requested_by === person.id) return 'You made this request. Withdraw it instead.';
  return whyNot(rejectPublication, person);
}

export function whyNotWithdraw({ status, requested_by }: ReviewRequest, person: Reviewer): string | null {
  if (status !== 'pending') return closedReason(status);
  if (requested_by === person.id) return null;
  const reason = whyNot(withdrawPublication, person);
  return reason && `${reason} You can reject it instead.`;
}

export function reviewedState(
  { release_id, deployment_id }: { release_id: string | null; deployment_id: string | null },
  known: {
    site?: { active_release: { id: string } | null; staged_release: { id: string } | null } | undefined;
    deployment?: { id: string; state: string } | undefined;
  },
): 'live' | 'staged' | 'built' | 'gone' | null {
  if (release_id !== null) {
    if (!known.site) return null;
    if (known.site.active_release?.id === release_id) return 'live';
    return known.site.staged_release?.id === release_id ? 'staged' : 'gone';
  }
  if (deployment_id === null) return 'gone';
  if (!known.deployment) return null;
  const { state } = known.deployment;
  return state === 'live' || state === 'built' ? state : 'gone';
}
