import { createDeployment, grantSourceUpload } from '@svc/contract/deployments.ts';
import type { Preview } from '@svc/contract/plan.ts';
import type { Result } from '../command.ts';
import type { Ctx } from '../context.ts';
import { CliError, planStale } from '../errors.ts';
import { carryOut } from '../mutation.ts';
import { readable } from '../storage/byte-progress.ts';
import { resolveTenant } from '../tenant.ts';
import { deploymentView } from '../views/deployment.ts';
import type { DeploymentRecord } from './deployment-ending.ts';
import { followDeployment } from './follow-deployment.ts';
import { type PackedFolder, packFolder } from './pack-folder.ts';
import { sendSource } from './send-source.ts';

export interface AppDeployment {
  app: string;
  fromDir: string | undefined;
  ref: string | undefined;
  /** `begun`: not waited for. */
  until: 'begun' | 'ended';
}

type Place = { tenantID: string; app: string };

export async function deployApp(ctx: Ctx, { app, fromDir, ref, until }: AppDeployment): Promise<Result> {
  const packed = fromDir === undefined ? null : await packFolder(ctx, fromDir);
  const params = { tenantID: await resolveTenant(ctx), app };
  const client = await ctx.client();
  const ofRepository = { params, body: { ref } };
  return carryOut(ctx, {
    preview: async () => {
      if (packed === null) return client.preview(createDeployment, ofRepository, { signal: ctx.signal });
      const answer = await previewPacked(ctx, params);
      ctx.note(`It would send ${muchOf(packed)}, and deploy that.`);
      return answer;
    },
    execute: async (plan) => {
      const begun =
        packed === null
          ? await client.call(createDeployment, ofRepository, once(ctx, plan))
          : await deployPacked(ctx, { params, packed, plan });
      if (until === 'begun') return { value: begun, view: deploymentView };
      return followDeployment(ctx, { ...params, begun, log: 'shown' });
    },
  });
}

/** Of the deployment itself, before anything is sent. */
async function previewPacked(ctx: Ctx, params: Place): Promise<Preview> {
  const client = await ctx.client();
  const input = { params, body: { upload_pending: true } } as const;
  return client.preview(createDeployment, input, { signal: ctx.signal });
}

async function deployPacked(
  ctx: Ctx,
  { params, packed, plan }: { params: Place; packed: PackedFolder; plan: string | undefined },
): Promise<DeploymentRecord> {
  const client = await ctx.client();
  try {
    // What would be refused, or is no longer as it was shown, is not sent.
    const foreseen = await previewPacked(ctx, params);
    if (plan !== undefined && plan !== foreseen.plan.fingerprint) throw planStale();
    const { upload_id, put_url } = await client.call(grantSourceUpload, { params }, once(ctx));
    ctx.say(`Sending ${muchOf(packed)}.`);
    await sendSource(ctx, packed, put_url);
    return await client.call(createDeployment, { params, body: { upload_id } }, once(ctx, plan));
  } catch (cause) {
    if (!(cause instanceof CliError) || cause.code !== 'interrupted') throw cause;
    throw new CliError('interrupted', 'Interrupted before the deployment was known to have begun.', {
      next: `See svc deployments list --app ${params.app}`,
      cause,
    });
  }
}

function once(ctx: Ctx, plan?: string) {
  return {
    ...{ signal: ctx.signal, idempotencyKey: crypto.randomUUID() },
    ...(plan !== undefined && { ifPlan: plan }),
  };
}

function muchOf({ files, bytes }: PackedFolder): string {
  return `${files} ${files === 1 ? 'file' : 'files'}, ${readable(bytes.byteLength)} packed`;
}
