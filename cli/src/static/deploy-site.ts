import { ProblemError } from '@svc/contract/client.ts';
import { createRelease, finalizeRelease, grantUpload } from '@svc/contract/static-sites.ts';
import type { Result } from '../command.ts';
import type { Ctx } from '../context.ts';
import { carryOut } from '../mutation.ts';
import { resolveTenant } from '../tenant.ts';
import { within } from '../waiting.ts';
import { deployEnding } from './deploy-ending.ts';
import { type DeployStage, goesOnText, leftOff } from './deploy-stage.ts';
import { deployView } from './deployed.ts';
import { gatherRelease } from './gather-release.ts';
import type { HashedFile } from './hash-site.ts';
import { uploadMissing } from './upload-missing.ts';

const requestMsMax = 5 * 60_000;
/** A file that goes away between its arrival and the end is sent once more. */
const roundsMax = 2;

export interface SiteDeployment {
  app: string;
  fromDir: string | undefined;
  version: string | undefined;
}

/** Makes a release of a folder: announces its files, sends those that are missing, and ends it. */
export async function deploySite(ctx: Ctx, deployment: SiteDeployment): Promise<Result> {
  const stage: DeployStage = { doing: 'reading', missing: 0, uploaded: { files: 0, bytes: 0 } };
  try {
    return await deploy(ctx, deployment, stage);
  } catch (cause) {
    throw leftOff(cause, stage);
  }
}

async function deploy(
  ctx: Ctx,
  { app, fromDir, version }: SiteDeployment,
  stage: DeployStage,
): Promise<Result> {
  const { files, config } = await gatherRelease(ctx, { app, fromDir });
  const params = { tenantID: await resolveTenant(ctx), app };
  const announced = files.map(({ path, sha256, size }) => ({ path, sha256, size }));
  const input = { params, body: { version, files: announced, config, on_finalize: 'deploy' as const } };
  const client = await ctx.client();
  const result = await carryOut(ctx, {
    preview: () => client.preview(createRelease, input, { signal: bounded(ctx) }),
    execute: async (plan) => {
      stage.doing = 'announcing';
      const options = { ...once(ctx), ...(plan !== undefined && { ifPlan: plan }) };
      const draft = await client.call(createRelease, input, options);
      const release = await complete(ctx, { ...params, release: draft.id }, { draft, files, stage });
      const { note, ...ending } = await deployEnding(ctx, params, release);
      if (note !== null) ctx.note(note);
      return { value: { ...release, uploaded: stage.uploaded }, view: deployView, ...ending };
    },
  });
  return goesOnText(ctx, params, result);
}

interface Begun {
  draft: { missing: string[]; upload_url: string };
  files: readonly HashedFile[];
  stage: DeployStage;
}

async function complete(
  ctx: Ctx,
  params: { tenantID: string; app: string; release: string },
  { draft, files, stage }: Begun,
) {
  const client = await ctx.client();
  const renew = () => client.call(grantUpload, { params }, once(ctx));
  let grant = draft;
  stage.missing = draft.missing.length;
  for (let round = 1; ; round += 1) {
    stage.doing = 'uploading';
    await uploadMissing(ctx, { grant, files, renew, uploaded: stage.uploaded });
    stage.doing = 'finalizing';
    try {
      return await client.call(finalizeRelease, { params }, once(ctx));
    } catch (cause) {
      if (!isIncomplete(cause) || round >= roundsMax) throw cause;
      grant = await renew();
    }
  }
}

function bounded(ctx: Ctx): AbortSignal {
  return within(ctx, requestMsMax).signal;
}

function once(ctx: Ctx) {
  return { signal: bounded(ctx), idempotencyKey: crypto.randomUUID() };
}

function isIncomplete(cause: unknown): boolean {
  return cause instanceof ProblemError && cause.problem.code === 'release_incomplete';
}
