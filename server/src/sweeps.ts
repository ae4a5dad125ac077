import { sql } from 'kysely';
import { sweepAppMetrics } from './app-metrics/sweep-app-metrics.ts';
import { forgetOldNames } from './apps/forget-old-names.ts';
import { purgeDueApps } from './apps/purge-due-apps.ts';
import type { CertificatesPlace } from './certificates/create-certificates.ts';
import { sweepArtifacts } from './deployments/sweep-artifacts.ts';
import { checkDomains } from './domains/check-domains.ts';
import type { DomainsPlace } from './domains/domains-place.ts';
import type { ObjectStore } from './drivers/object-store/object-store.ts';
import type { Runtime } from './drivers/runtime/runtime.ts';
import { expireGrants } from './grants/expire-grants.ts';
import { tenantsWithExpiredGrants } from './grants/tenants-with-expired-grants.ts';
import { sweepIconObjects, sweepIcons } from './icons/sweep-icons.ts';
import { sweepLoginAttempts } from './identity/login-attempts.ts';
import { sweepOauthModels } from './identity/oauth-adapter.ts';
import { sweepLogs } from './logs/sweep-logs.ts';
import { sweepNotifications } from './notifications/sweep-notifications.ts';
import type { Db } from './plumbing/db.ts';
import { forgetOldKeys } from './plumbing/idempotency.ts';
import { asOperator, type OperatorParts } from './plumbing/operator.ts';
import type { Sweep } from './plumbing/run-sweeps.ts';
import { expireRequests } from './review/expire-requests.ts';
import { forgetOldRowKeys } from './rows/forget-old-row-keys.ts';
import { sweepSources } from './sources/sweep-sources.ts';
import { sweepBlobObjects } from './static-sites/sweep-blob-objects.ts';
import { sweepReleases } from './static-sites/sweep-releases.ts';
import { forgetUploads } from './storage/forget-uploads.ts';
import { forgetEndedVisits } from './visitors/forget-ended-visits.ts';

export interface SweepParts extends OperatorParts {
  /** Where apps' tables live: the control plane's own database, or another. */
  rowsDb: Db;
  objects: ObjectStore;
  domains: DomainsPlace;
  ordering: Pick<CertificatesPlace, 'sweep'>;
  runtime: Pick<Runtime, 'kind' | 'artifacts' | 'discard'>;
}

/** What is done by the clock. Each may run twice, and in two copies of the server at once. */
export function sweepsOf(parts: () => SweepParts): Sweep[] {
  return [
    { name: 'grants.expire', cron: '* * * * *', run: () => sweepGrants(parts()) },
    { name: 'icons.sweep', cron: '47 * * * *', run: () => sweepIcons(parts()) },
    {
      name: 'icons.objects',
      cron: '57 4 * * *',
      run: () => sweepIconObjects({ ...parts(), now: new Date() }),
    },
    {
      name: 'releases.sweep',
      cron: '22 * * * *',
      run: () => sweepReleases(parts(), { now: new Date() }),
    },
    {
      name: 'releases.objects',
      cron: '12 4 * * *',
      run: () => sweepBlobObjects({ ...parts(), now: new Date() }),
    },
    {
      name: 'storage.forgetUploads',
      cron: '7,37 * * * *',
      run: () => forgetUploads(parts(), { now: new Date() }),
    },
    {
      name: 'domains.check',
      cron: '* * * * *',
      run: async () => void (await checkDomains(parts(), parts().domains)),
    },
    { name: 'certificates.order', cron: '* * * * *', run: () => parts().ordering.sweep() },
    { name: 'oauth.expire', cron: '*/10 * * * *', run: () => sweepOauthModels(parts().db) },
    { name: 'visits.forget', cron: '*/10 * * * *', run: () => forgetEndedVisits(parts().db) },
    { name: 'attempts.forget', cron: '*/10 * * * *', run: () => sweepLoginAttempts(parts().db) },
    { name: 'idempotency.forget', cron: '7 * * * *', run: () => forgetOldKeys(parts().db) },
    { name: 'rows.forgetKeys', cron: '27 * * * *', run: () => forgetOldRowKeys(parts().rowsDb) },
    { name: 'logs.sweep', cron: '32 * * * *', run: () => sweepLogs(parts()) },
    {
      name: 'sources.sweep',
      cron: '42 * * * *',
      run: () => sweepSources(parts(), { now: new Date() }),
    },
    { name: 'deployments.artifacts', cron: '2 * * * *', run: () => sweepArtifacts(parts()) },
    { name: 'publications.expire', cron: '*/10 * * * *', run: () => expireRequests(parts()) },
    { name: 'apps.purge', cron: '37 * * * *', run: () => purgeDueApps(parts()) },
    { name: 'metrics.sweep', cron: '52 * * * *', run: () => sweepAppMetrics(parts().db) },
    {
      name: 'notifications.sweep',
      cron: '47 3 * * *',
      run: async () => void (await sweepNotifications(parts().db, { now: new Date() })),
    },
    { name: 'names.forget', cron: '27 3 * * *', run: () => forgetOldNames(parts().db) },
    { name: 'outbox.forget', cron: '17 3 * * *', run: () => forgetDoneEffects(parts()) },
  ];
}

async function sweepGrants(parts: OperatorParts): Promise<void> {
  for (const tenantId of await tenantsWithExpiredGrants(parts.db)) {
    const change = { name: 'grants.expire', auditTenantId: tenantId };
    // One tenant's trouble is not the others'.
    await asOperator(parts, change, (ctx) => expireGrants(ctx, { tenantId })).catch((error: unknown) =>
      parts.log.error({ err: error, tenant: tenantId }, 'could not write expiry down'),
    );
  }
}

async function forgetDoneEffects(parts: OperatorParts): Promise<void> {
  await sql`delete from svc.outbox where done_at < now() - interval '7 days'`.execute(parts.db);
}
