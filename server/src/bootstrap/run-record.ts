import type { BootstrapRun } from '@svc/contract/bootstrap.shapes.ts';
import type { z } from 'zod';
import { findAppById } from '../apps/find-app-by-id.ts';
import type { GitHost } from '../drivers/git-host/git-host.ts';
import { appHome } from '../identity/app-redirects.ts';
import type { Db } from '../plumbing/db.ts';
import { findTenant } from '../tenants/find-tenant.ts';
import { commitOf, deploymentIdOf, repoOf } from './outputs.ts';
import { shownStep, undoCommands } from './rules.ts';
import type { Run, StepRow } from './store.ts';

export type RunRecord = z.output<typeof BootstrapRun>;

export interface RunPlaces {
  baseUrl: string;
  appsDomain: string;
  gitHost: Pick<GitHost, 'isBuiltIn' | 'webUrl'>;
}

export async function runRecord(db: Db, run: Run, { gitHost, ...places }: RunPlaces): Promise<RunRecord> {
  const app = run.app_id === null ? null : await findAppById({ db }, { id: run.app_id });
  const tenant = await findTenant({ db }, { ref: run.tenant_id });
  const repo = repoOf(run);
  const repoName = repo && `${repo.owner}/${repo.name}`;
  return {
    id: run.id,
    kind: run.kind,
    state: run.state,
    step: shownStep(run.state, run.steps),
    steps: run.steps.map(stepRecord),
    template_id: run.template_id,
    source_app_id: run.source_app_id,
    slug: run.slug,
    app_id: run.app_id,
    repo: repoName,
    commit: commitOf(run),
    deployment_id: deploymentIdOf(run),
    url: app?.subdomain ? appHome(places, app.subdomain) : null,
    clone_url: repo?.cloneUrl ?? null,
    failure: run.failure_code === null ? null : { code: run.failure_code, detail: run.failure_detail ?? '' },
    undo: undoCommands(
      run,
      { app: app && { slug: app.slug, tenant: tenant?.slug ?? run.tenant_id }, repo: repoName },
      { isBuiltIn: gitHost.isBuiltIn, apiUrl: `${gitHost.webUrl}/api/v3` },
    ),
    created_by: run.created_by,
    created_at: run.created_at.toISOString(),
    ended_at: run.ended_at?.toISOString() ?? null,
  };
}

function stepRecord(step: StepRow): RunRecord['steps'][number] {
  return {
    name: step.name,
    state: step.state,
    attempts: step.attempts,
    detail: step.detail,
    started_at: step.started_at?.toISOString() ?? null,
    ended_at: step.ended_at?.toISOString() ?? null,
  };
}
