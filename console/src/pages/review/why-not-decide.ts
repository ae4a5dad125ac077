import { approvePublication, rejectPublication, withdrawPublication } from '@svc/contract/review.ts';
import { type Asker, whyNot } from '../../api/may.ts';

interface Request {
  status: string;
  requested_by: string;
}
type Person = Asker & { id: string };

const over = (status: string) => `The request is ${status} already; a new one can be made.`;

/** Why somebody may not approve it; `refusal` is what the server says to a preview of it. */
export function whyNotApprove(
  { status, requested_by }: Request,
  person: Person,
  refusal: string | null,
): string | null {
  if (status !== 'pending') return over(status);
  const isAdmin = whyNot(approvePublication, person) === null;
  if (!isAdmin && requested_by === person.id)
    return 'You asked for it yourself; a tenant admin other than you decides.';
  return whyNot(approvePublication, person) ?? refusal;
}

export function whyNotReject({ status, requested_by }: Request, person: Person): string | null {
  if (status !== 'pending') return over(status);
  if (requested_by === person.id) return 'You asked for it yourself; withdraw it instead.';
  return whyNot(rejectPublication, person);
}

export function whyNotWithdraw({ status, requested_by }: Request, person: Person): string | null {
  if (status !== 'pending') return over(status);
  if (requested_by === person.id) return null;
  const reason = whyNot(withdrawPublication, person);
  return reason && `${reason} To refuse it, reject it.`;
}
