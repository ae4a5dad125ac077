import { sql } from 'kysely';
import type { AppAccess } from '../../core/context.ts';
import { type TestDatabase, testDeps } from '../../testing.ts';
import { reviewRoutes } from '../routes.ts';
import { newSiteEnv, testSiteDeps, useSiteServer, type Who } from '../static-sites/testing.ts';

export const useReviewServer = () =>
  useSiteServer({
    routes: (database) =>
      reviewRoutes({
        ...testDeps,
        db: database.db,
        ...testSiteDeps,
        now: () => new Date(),
        waits: { wait: async () => {}, isStopping: () => true, stop() {} },
      }),
  });

export type ReviewEnv = Awaited<ReturnType<typeof newReviewEnv>>;

export async function newReviewEnv(database: TestDatabase, server: Parameters<typeof newSiteEnv>[1]) {
  const world = await newSiteEnv(database, server);
  await world.release({ 'index.html': 'one' }, { on_finalize: 'deploy' });
  const base = `/api/v1/tenants/${world.tenant.slug}/publication-requests`;
  const call = (who: Who, method: string, path: string, body?: unknown) =>
    world.as(who, method, `${base}${path}`, body);
  const ask = (body: unknown, who?: Who) => world.ofApp('POST', '/publication-requests', body, who);
  return {
    ...world,
    ask,
    /** Like `ask`, but expects success and returns the id of the request. */
    async asked(body: unknown = { visibility: 'public' }, who?: Who): Promise<string> {
      const { status, body: created } = await ask(body, who);
      if (status !== 201) throw new Error(`POST publication-requests: ${JSON.stringify(created)}`);
      return created.id;
    },
    decide: (
      id: string,
      move: 'approve' | 'reject' | 'withdraw',
      who: Who = 'admin',
      body: unknown = move === 'reject' ? { reason: 'no' } : undefined,
    ) => call(who, 'POST', `/${id}/${move}`, body),
    requests: (path: string, who: Who = 'admin') => call(who, 'GET', path),
    statusOf: async (id: string): Promise<string> => (await call('admin', 'GET', `/${id}`)).body.status,
    async appNow() {
      const { rows } = await sql<{ visibility: AppAccess['visibility']; review_status: string }>`
        select visibility, review_status from svc.apps where id = ${world.app.id}`.execute(database.db);
      if (!rows[0]) throw new Error('The app does not exist.');
      return rows[0];
    },
    /** The changes of the newest audit entry with the action. */
    async audited(action: string) {
      const { rows } = await sql<{ changes: string }>`
        select changes from svc.audit_entries where tenant_id = ${world.tenant.id} and action = ${action}
        order by seq desc limit 1`.execute(database.db);
      type Change = { path: string; before: unknown; after: unknown; effect?: string };
      return rows[0] && (JSON.parse(rows[0].changes) as Change[]);
    },
  };
}
