import { findApp } from '../apps/find-app.ts';
import type { TenantCtx } from '../plumbing/context.ts';
import { ownsApp } from '../plumbing/is-enough.ts';
import { fail } from '../plumbing/problem.ts';
import { type RunPlaces, type RunRecord, runRecord } from './run-record.ts';
import { findRun, type Run } from './store.ts';

/** For who started it, for owners of its app, and for admins; for others it is not there. */
export async function getBootstrap(
  ctx: TenantCtx,
  { run: id }: { run: string },
  places: RunPlaces,
): Promise<RunRecord> {
  const run = await findRun(ctx.db, ctx.tenant.id, id);
  if (!run || !(await mayLook(ctx, run))) throw fail('not_found');
  return runRecord(ctx.db, run, places);
}

async function mayLook({ db, tenant, caller }: TenantCtx, run: Run): Promise<boolean> {
  if (run.created_by === caller.userId || tenant.role === 'tenant_admin') return true;
  const app = run.app_id === null ? null : await findApp(db, tenant, { ref: run.app_id, caller });
  return app !== null && ownsApp(app.relation);
}
