import {
  createDeployment,
  getDeployment,
  grantSourceUpload,
  restartApp,
  rollbackDeployment,
} from '@svc/contract/deployments.ts';
import type { Preview } from '@svc/contract/plan.ts';
import type { Preview as BranchPreview } from '@svc/contract/previews.shapes.ts';
import { redeployPreview } from '@svc/contract/previews.ts';
import { objectSumHeader } from '@svc/contract/storage.ts';
import type { z } from 'zod';
import type { Result } from '../command.ts';
import type { Ctx } from '../context.ts';
import { CliError } from '../framework/errors.ts';
import { carryOut, mutate } from '../mutation.ts';
import { formatBytes } from '../output/progress.ts';
import { planStaleError } from '../session/problems.ts';
import { request, signedUrlError } from '../session/request.ts';
import { resolveTenant } from '../session/tenant.ts';
import { isTransient, pause } from '../session/waiting.ts';
import { deploymentView, previewView } from '../views/delivery.ts';
import { findDeploymentId } from './find-deployment.ts';
import { type DeploymentRecord, followDeployment } from './follow-deployment.ts';
import { type PackedFolder, packFolder } from './pack-folder.ts';

export interface AppDeployment {
  app: string;
  fromDir: string | undefined;
  ref: string | undefined;
  tables?: TableFlags;
  until: 'started' | 'ended';
}

interface TableFlags {
  prune?: boolean;
  allow_destructive?: boolean;
}

type AppParams = { tenantID: string; app: string };

export async function deployApp(
  ctx: Ctx,
  { app, fromDir, ref, tables = {}, until }: AppDeployment,
): Promise<Result> {
  const packed = fromDir === undefined ? null : await packFolder(ctx, fromDir);
  const params = { tenantID: await resolveTenant(ctx), app };
  const client = await ctx.client();
  const ofRepository = { params, body: { ref, ...tables } };
  return carryOut(ctx, {
    // Only what this flag allows loses values.
    irreversible: tables.allow_destructive && createDeployment.irreversible,
    preview: async () => {
      if (packed === null) return client.preview(createDeployment, ofRepository);
      const answer = await previewPacked(ctx, params, tables);
      ctx.note(`Would upload and deploy ${sizeText(packed)}.`);
      return answer;
    },
    execute: async (plan) => {
      const deployment =
        packed === null
          ? await client.call(createDeployment, ofRepository, mutationOptions(plan))
          : await deployPacked(ctx, { params, packed, tables, plan });
      if (until === 'started') return { value: deployment, view: deploymentView };
      return followDeployment(ctx, { ...params, deployment, log: 'shown' });
    },
  });
}

async function previewPacked(ctx: Ctx, params: AppParams, tables: TableFlags): Promise<Preview> {
  const client = await ctx.client();
  const input = { params, body: { upload_pending: true, ...tables } } as const;
  return client.preview(createDeployment, input);
}

async function deployPacked(
  ctx: Ctx,
  {
    params,
    packed,
    tables,
    plan,
  }: { params: AppParams; packed: PackedFolder; tables: TableFlags; plan: string | undefined },
): Promise<DeploymentRecord> {
  const client = await ctx.client();
  try {
    // Fail before the upload if the deployment would be rejected or the plan has changed.
    const foreseen = await previewPacked(ctx, params, tables);
    if (plan !== undefined && plan !== foreseen.plan.fingerprint) throw planStaleError();
    const { upload_id, put_url } = await client.call(grantSourceUpload, { params }, mutationOptions());
    ctx.say(`Uploading ${sizeText(packed)}.`);
    await sendSource(ctx, packed, put_url);
    const body = { upload_id, ...tables };
    return await client.call(createDeployment, { params, body }, mutationOptions(plan));
  } catch (cause) {
    if (!(cause instanceof CliError) || cause.code !== 'interrupted') throw cause;
    throw new CliError('interrupted', 'Interrupted. The deployment may have started.', {
      next: `See svc deployments list --app ${params.app}`,
      cause,
    });
  }
}

function mutationOptions(plan?: string) {
  return { idempotencyKey: crypto.randomUUID(), ifPlan: plan };
}

function sizeText({ files, bytes }: PackedFolder): string {
  return `${files} ${files === 1 ? 'file' : 'files'}, ${formatBytes(bytes.byteLength)} packed`;
}

type Until = 'started' | 'ended';

export async function restart(ctx: Ctx, { app, until }: { app: string; until: Until }): Promise<Result> {
  const params = { tenantID: await resolveTenant(ctx), app };
  return followUntil(ctx, await mutate(ctx, restartApp, { params }, { view: deploymentView }), {
    ...params,
    until,
  });
}

export async function rollBack(
  ctx: Ctx,
  { app, deployment, until }: { app: string; deployment: string; until: Until },
): Promise<Result> {
  const tenantID = await resolveTenant(ctx);
  const params = { tenantID, app, deployment: await findDeploymentId(ctx, { tenantID, app, deployment }) };
  const result = await mutate(ctx, rollbackDeployment, { params }, { view: deploymentView });
  return followUntil(ctx, result, { ...params, until });
}

async function followUntil(
  ctx: Ctx,
  result: Result,
  { tenantID, app, until }: { tenantID: string; app: string; until: Until },
): Promise<Result> {
  if (ctx.mutation.mode === 'preview' || until === 'started') return result;
  return followDeployment(ctx, { tenantID, app, deployment: result.value as DeploymentRecord, log: 'shown' });
}

/** The result is the preview, also when its deployment failed. */
export async function redeploy(
  ctx: Ctx,
  { app, preview, until }: { app: string; preview: string; until: Until },
): Promise<Result> {
  const tenantID = await resolveTenant(ctx);
  const params = { tenantID, app, preview };
  const result = await mutate(ctx, redeployPreview, { params }, { view: previewView });
  if (ctx.mutation.mode === 'preview' || until === 'started') return result;
  const queued = result.value as z.output<typeof BranchPreview>;
  if (queued.deployment === null) return result;
  const of = { tenantID, app: queued.id };
  const deployment = await (await ctx.client()).call(getDeployment, {
    params: { ...of, deployment: queued.deployment.id },
  });
  const ended = await followDeployment(ctx, { ...of, deployment, log: 'shown' });
  const { id, seq, state } = ended.value as DeploymentRecord;
  const value = { ...queued, deployment: { id, seq, state }, live: queued.live || state === 'live' };
  return { ...ended, value, view: previewView };
}

const retriesMax = 6;
const backoffMsMax = 8_000;

/** Retries after network errors: the server recognizes the same bytes by their digest. */
export async function sendSource(ctx: Ctx, packed: PackedFolder, url: string): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      return await put(ctx, packed, url);
    } catch (cause) {
      if (ctx.signal.aborted) throw ctx.signal.reason;
      if (tries >= retriesMax || !isTransient(cause)) throw cause;
      await pause(ctx, Math.min(backoffMsMax, 250 * 2 ** tries));
    }
  }
}

/** Sent without a login: the URL is the secret. */
async function put(ctx: Ctx, { bytes, sha256 }: PackedFolder, url: string): Promise<void> {
  const headers = { 'content-type': 'application/gzip', [objectSumHeader]: sha256 };
  const response = await request(ctx, url, { method: 'PUT', headers, body: bytes });
  if (!response.ok) throw await signedUrlError(response, url);
}
