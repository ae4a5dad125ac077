import type { GrantRequest } from '@svc/contract/grant-requests.shapes.ts';
import { type GrantRequestStatus, grantRequestStates } from '@svc/contract/grant-requests.ts';
import type { z } from 'zod';
import type { MutationCtx } from '../../core/context.ts';
import type { Outcome, RequestRow } from './store.ts';

export type RequestRecord = z.output<typeof GrantRequest>;

export function allows(move: keyof typeof grantRequestStates, status: GrantRequestStatus): boolean {
  return (grantRequestStates[move] as readonly GrantRequestStatus[]).includes(status);
}

const reminderSecondsMax = 24 * 3600;

export function reminderTime(start: Date, durationSeconds: number): Date {
  const lead = Math.min(reminderSecondsMax, durationSeconds / 4);
  return new Date(start.getTime() + (durationSeconds - lead) * 1000);
}

const units = [
  ['day', 24 * 3600],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
] as const;

export function durationText(seconds: number): string {
  const [unit, size] = units.find(([, each]) => seconds % each === 0) ?? ['second', 1];
  const count = seconds / size;
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}

export function requestRecord(row: RequestRow, { canDecide }: { canDecide: boolean }): RequestRecord {
  const { tenant_id: _tenant, connector_owners: _owners, ...fields } = row;
  return {
    ...fields,
    requested_at: row.requested_at.toISOString(),
    expires_at: row.expires_at.toISOString(),
    decided_at: row.decided_at?.toISOString() ?? null,
    can_decide: canDecide,
  };
}

export const auditTarget = ({ id, connector_slug }: RequestRow) => ({
  kind: 'grant_request',
  id,
  name: connector_slug,
});

const moves = { approved: 'approve', rejected: 'reject', withdrawn: 'withdraw', expired: 'expire' } as const;

export function auditEnd(
  ctx: Pick<MutationCtx, 'audit'>,
  row: RequestRow,
  { status, reason }: Pick<Outcome, 'status' | 'reason'>,
): void {
  ctx.audit({
    action: `grantRequests.${moves[status]}`,
    target: auditTarget(row),
    before: { status: 'pending' },
    after: { status, ...(reason !== '' && { decision_reason: reason }) },
  });
}
