import { address } from '@svc/contract/client.ts';
import type { Deployment } from '@svc/contract/deployments.shapes.ts';
import { readBuildLog } from '@svc/contract/deployments.ts';
import type { z } from 'zod';
import { type SitePlaces, siteUrl } from '../static-sites/site-urls.ts';
import type { DeploymentRow } from './store.ts';

export type DeploymentRecord = z.output<typeof Deployment>;

export function deploymentRecord(
  row: DeploymentRow,
  { subdomain, places }: { subdomain: string | null; places: SitePlaces },
): DeploymentRecord {
  const { failure_code: code, failure_step: step, failure_detail: detail } = row;
  return {
    id: row.id,
    app_id: row.app_id,
    seq: row.seq,
    kind: row.kind,
    trigger: row.trigger,
    state: row.state,
    step: row.step,
    method: row.method,
    source: row.source,
    repo: row.repo,
    ref: row.ref,
    commit: row.commit_sha,
    commit_message: row.commit_message,
    digest: row.digest,
    rollback_of: row.rollback_of,
    release_id: row.release_id,
    failure: code && step ? { code, step, detail: detail ?? '', log_url: logUrl(row, places) } : null,
    kept: row.is_kept,
    url: siteUrl(places, subdomain, 'active'),
    created_by: row.created_by,
    created_at: row.created_at.toISOString(),
    started_at: isoOf(row.started_at),
    built_at: isoOf(row.built_at),
    live_at: isoOf(row.live_at),
    ended_at: isoOf(row.ended_at),
  };
}

function logUrl({ tenant_id, app_id, id }: DeploymentRow, { baseUrl }: SitePlaces): string {
  const params = { tenantID: tenant_id, app: app_id, deployment: id };
  return `${baseUrl}${address(readBuildLog, { params })}`;
}

function isoOf(time: Date | null): string | null {
  return time?.toISOString() ?? null;
}
