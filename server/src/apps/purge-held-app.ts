import type { Removed } from '@svc/contract/app-life.shapes.ts';
import { namesReservedDays } from '@svc/contract/apps.ts';
import type { z } from 'zod';
import { countEnv } from '../app-env/count-env.ts';
import { discardFor } from '../deployments/stop-for.ts';
import { forgetConnection } from '../git-connections/forget-connection.ts';
import { purgeIcons } from '../icons/purge-icons.ts';
import { takeAppFromPats } from '../pats/take-app-from-pats.ts';
import type { MutationCtx } from '../plumbing/context.ts';
import { daysAfter } from '../plumbing/days-after.ts';
import { purgeRawDatabase } from '../raw-db/purge-raw-database.ts';
import { countPublications } from '../review/count-publications.ts';
import { endSignInsTo } from '../sessions/end-sign-ins-to.ts';
import { purgeSources } from '../sources/purge-sources.ts';
import { purgeStaticSite } from '../static-sites/purge-static-site.ts';
import { purgeStorage } from '../storage/purge-storage.ts';
import { appTag } from '../tables/catalogue.ts';
import { dropTablesOfApp } from '../tables/drop-tables-of-app.ts';
import { takeAppFromTableGrants } from '../tables/take-app-from-table-grants.ts';
import { countPeopleOf, deleteAppRow } from './life-store.ts';
import { keepSubdomain } from './names-store.ts';
import type { AppRow } from './store.ts';

export interface PurgedApp {
  id: string;
  slug: string;
  removed: z.output<typeof Removed>;
}

/** A deleted app whose row is locked, with everything of it. What was removed stands in the plan and in the answer. */
export async function purgeHeldApp(ctx: MutationCtx, app: AppRow): Promise<PurgedApp> {
  const { id, slug, tenant_id: tenantId } = app;
  const of = { tenantId, appId: id };
  const people = await countPeopleOf(ctx.db, tenantId, id);
  const tokens = await takeAppFromPats(ctx, of);
  const granted = await takeAppFromTableGrants(ctx, of);
  // Signed out when it was deleted; this is for a sign-in that was under way at that moment.
  await endSignInsTo(ctx, { appId: id });
  const variables = await countEnv(ctx.db, of);
  const requests = await countPublications(ctx, of);
  const { deployments } = await discardFor(ctx, of);
  purgeSources(ctx, of);
  const { databases } = await purgeRawDatabase(ctx, of);
  const { objects, bytes } = await purgeStorage(ctx, of);
  const { icons } = await purgeIcons(ctx, of);
  const connection = await forgetConnection(ctx, of);
  const site = await purgeStaticSite(ctx, of);
  const { tables, rows, grants } = await dropTablesOfApp(ctx, of);
  if (app.subdomain !== null) {
    const until = daysAfter(ctx.now, namesReservedDays);
    await keepSubdomain(ctx.db, tenantId, { subdomain: app.subdomain, until });
  }
  await deleteAppRow(ctx.db, tenantId, id);

  const removed = {
    tables,
    rows,
    table_grants: grants + granted.length,
    ...people,
    tokens_revoked: tokens.revoked,
    tokens_narrowed: tokens.narrowed,
    databases,
    objects,
    bytes,
    icons,
    ...site,
    variables,
    deployments,
    ...connection,
    publication_requests: requests,
  };
  const { name, owner_id, subdomain, deleted_at, purge_after } = app;
  ctx.audit({
    action: 'apps.purge',
    appId: id,
    target: { kind: 'app', id, name: slug },
    before: { slug, name, owner_id, subdomain, deleted_at, purge_after, ...removed },
    after: null,
  });
  for (const change of [...tokens.changes, ...granted]) ctx.audit(change);
  ctx.changed(appTag(id));
  return { id, slug, removed };
}
