import { transferOwnership } from '@svc/contract/owners.ts';
import { useRefusal } from '../../../api/use-refusal.ts';
import { useApp } from '../use-app.ts';

/**
 * Why one may not hand the app over. The table says it of all but admins, who may where its owner can not do it any more:
 * the server is asked that with an address that it never takes, the one of the owner.
 */
export function useWhyNoTransfer(): string | null {
  const { app, params, tenant, why } = useApp();
  const notOne = why(transferOwnership);
  const isAsked = notOne !== null && tenant.role === 'tenant_admin';
  const refusal = useRefusal(
    transferOwnership,
    { params, body: { to: app.owner_id } },
    { enabled: isAsked, code: 'forbidden' },
  );
  return isAsked ? refusal : notOne;
}
