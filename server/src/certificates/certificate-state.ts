import type { CertificateState } from '../domains/domain-certificates.ts';
import type { OrderFailureReason } from '../drivers/certificates/certificate-authority.ts';
import type { CertificateRow } from './store.ts';

/** Pure: how a domain's certificate stands, for the domain's own record. */
export function certificateState(row: CertificateRow | null): CertificateState {
  if (row?.notAfter && !row.isOver) return { state: 'ok' };
  if (row?.isOver)
    return {
      state: 'failed',
      reason: 'expired',
      detail: `It ended at ${row.notAfter?.toISOString()}.${said(row)}`,
    };
  if (!row?.failureReason) return { state: 'waiting' };
  const reason = row.failureReason === 'caa_forbids' ? 'caa_forbids' : 'order_failed';
  return { state: 'failed', reason, detail: said(row).trim() };
}

const introductions: Readonly<Record<OrderFailureReason, string>> = {
  authority_unreachable: 'The certificate authority can not be reached',
  authority_error: 'The certificate authority could not do it',
  rate_limited: 'The certificate authority is asked too often',
  host_refused: 'The certificate authority does not give certificates for this host',
  caa_forbids: 'A CAA record forbids the certificate authority to give one',
  challenge_failed: 'The certificate authority did not find this server at the host',
};

function said({ failureReason, failureText, nextTryAt, isOrdering }: CertificateRow): string {
  if (!failureReason) return '';
  const next = isOrdering ? 'It is being tried again.' : `It is tried again at ${nextTryAt.toISOString()}.`;
  return ` ${introductions[failureReason]}: ${failureText ?? ''} ${next}`;
}
