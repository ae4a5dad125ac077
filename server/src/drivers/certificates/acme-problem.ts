import { OrderFailure, type OrderFailureReason } from './certificate-authority.ts';

/** What an ACME server says went wrong (RFC 8555, 6.7), in an answer or within an authorization. */
export interface AcmeProblem {
  type?: unknown;
  detail?: unknown;
}

const prefix = 'urn:ietf:params:acme:error:';
const reasons: Readonly<Record<string, OrderFailureReason>> = {
  rateLimited: 'rate_limited',
  rejectedIdentifier: 'host_refused',
  unsupportedIdentifier: 'host_refused',
  caa: 'caa_forbids',
};

export function failureOfProblem(problem: AcmeProblem, retryAt: Date | null = null): OrderFailure {
  const type = typeof problem.type === 'string' ? problem.type.replace(prefix, '') : 'unknown';
  const detail = typeof problem.detail === 'string' ? problem.detail : '';
  const reason = Object.hasOwn(reasons, type) ? reasons[type] : undefined;
  return new OrderFailure(reason ?? 'authority_error', detail || `The authority says ${type}.`, retryAt);
}

/** One in a challenge is always about how the host answered, whatever the authority calls it. */
export function failureOfChallenge(problem: AcmeProblem): OrderFailure {
  const failure = failureOfProblem(problem);
  if (failure.reason === 'caa_forbids') return failure;
  return new OrderFailure('challenge_failed', failure.message);
}

export function isBadNonce(problem: AcmeProblem): boolean {
  return problem.type === `${prefix}badNonce`;
}

/** As seconds or as a date; null where it is neither, or past. */
export function retryAtOf(header: string | null, now: Date): Date | null {
  if (!header) return null;
  const at = /^\d+$/.test(header) ? now.getTime() + Number(header) * 1000 : Date.parse(header);
  return Number.isFinite(at) && at > now.getTime() ? new Date(at) : null;
}
