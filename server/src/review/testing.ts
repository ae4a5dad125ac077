import { sql } from 'kysely';
import { type Answer, loginOf } from '../identity/testing.ts';
import type { AppAccess } from '../plumbing/context.ts';
import type { OperatorParts } from '../plumbing/operator.ts';
import { rowsOnly } from '../plumbing/outbox-rows.ts';
import {
  copyWithSites,
  type SitesCopy,
  type SiteWorld,
  siteWorld,
  type Who,
} from '../static-sites/testing.ts';
import { silentLog, type TestDatabase } from '../testing.ts';
import { reviewRoutes } from './routes.ts';

export const partsOf = ({ db }: TestDatabase): OperatorParts => ({ db, outbox: rowsOnly, log: silentLog });

/** One copy of the server with static sites and the review of apps. */
export function copyWithReview(database: TestDatabase): Promise<SitesCopy> {
  return copyWithSites(database, undefined, reviewRoutes(partsOf(database)));
}

export interface ReviewWorld extends SiteWorld {
  /** What the owner, unless somebody else is named, asks for. */
  ask(body: Record<string, unknown>, who?: Who): Promise<Answer>;
  /** The same, where nothing but a request is expected; its id. */
  asked(body?: Record<string, unknown>, who?: Who): Promise<string>;
  decide(id: string, move: 'approve' | 'reject' | 'withdraw', who?: Who, body?: unknown): Promise<Answer>;
  /** Below `/api/v1/tenants/<tenant>/publication-requests`, as an admin unless somebody else is named. */
  requests(path: string, who?: Who): Promise<Answer>;
  statusOf(id: string): Promise<string>;
  appNow(): Promise<{ visibility: AppAccess['visibility']; review_status: string }>;
  audited(action: string): Promise<{ path: string; before: unknown; after: unknown }[] | undefined>;
}

/** An app whose first release its owners see. */
export async function reviewWorld(database: TestDatabase, server: SitesCopy): Promise<ReviewWorld> {
  const world = await siteWorld(database, server);
  await world.release({ 'index.html': 'one' }, { on_finalize: 'deploy' });
  const base = `/api/v1/tenants/${world.tenant.slug}/publication-requests`;
  const call = async (who: Who, method: string, path: string, body?: unknown) =>
    server.call(await loginOf(database, world.people[who]), method, `${base}${path}`, body);
  const ask: ReviewWorld['ask'] = (body, who) => world.ofApp('POST', '/publication-requests', body, who);
  return {
    ...world,
    ask,
    async asked(body = { visibility: 'public' }, who = 'owner') {
      const { status, body: made } = await ask(body, who);
      if (status !== 201) throw new Error(`Nothing was asked for: ${JSON.stringify(made)}`);
      return made.id;
    },
    decide: (id, move, who = 'admin', body = move === 'reject' ? { reason: 'no' } : undefined) =>
      call(who, 'POST', `/${id}/${move}`, body),
    requests: (path, who = 'admin') => call(who, 'GET', path),
    statusOf: async (id) => (await call('admin', 'GET', `/${id}`)).body.status,
    async appNow() {
      const { rows } = await sql<{ visibility: AppAccess['visibility']; review_status: string }>`
        select visibility, review_status from svc.apps where id = ${world.app.id}`.execute(database.db);
      const [row] = rows;
      if (!row) throw new Error('The app is gone.');
      return row;
    },
    async audited(action) {
      const { rows } = await sql<{ changes: string }>`
        select changes from svc.audit_entries where tenant_id = ${world.tenant.id} and action = ${action}
        order by seq desc limit 1`.execute(database.db);
      return rows[0] && JSON.parse(rows[0].changes);
    },
  };
}
