import { asOperator } from '../plumbing/operator.ts';
import type { BootstrapParts } from './bootstrap-parts.ts';
import { listUnapprovedRuns } from './claim-store.ts';
import { endRun } from './end-run.ts';
import { lockRun } from './store.ts';

/** Ends runs whose code was denied, or not approved in time, so that their names are free again. */
export async function giveUpUnapproved(parts: BootstrapParts): Promise<void> {
  for (const { id, tenant_id } of await listUnapprovedRuns(parts.db)) {
    await asOperator(parts, { name: 'bootstraps.giveUp', auditTenantId: tenant_id }, async (ctx) => {
      const run = await lockRun(ctx.db, tenant_id, id);
      // Approved meanwhile.
      if (run?.state !== 'awaiting_approval') return;
      const failure = run.is_denied
        ? ({ code: 'access_denied', detail: 'The code was denied at the git host.' } as const)
        : ({ code: 'device_code_expired', detail: 'The code was not approved in time.' } as const);
      await endRun(ctx, run, { state: 'failed', step: 'authorize', failure });
    });
  }
}
