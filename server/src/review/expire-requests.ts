import type { OperatorParts } from '../plumbing/operator.ts';
import { endIfOverdue } from './end-overdue.ts';
import { listOverduePublications } from './store.ts';

/** Writes down that requests have waited for too long, and tells those who asked. */
export async function expireRequests(parts: OperatorParts): Promise<void> {
  for (const { id, tenant_id: tenantId } of await listOverduePublications(parts.db)) {
    // One tenant's trouble is not the others'.
    await endIfOverdue(parts, { tenantId, id }).catch((error: unknown) =>
      parts.log.error({ err: error, tenant: tenantId }, 'could not end a request to publish'),
    );
  }
}
