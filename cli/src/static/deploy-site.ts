import { getApp } from '@svc/contract/apps.ts';
import { ProblemError } from '@svc/contract/client.ts';
import type { Answer } from '@svc/contract/endpoint.ts';
import type { Preview } from '@svc/contract/plan.ts';
import type * as shapes from '@svc/contract/static-sites.shapes.ts';
import {
  createRelease,
  finalizeRelease,
  getRelease,
  getSite,
  grantUpload,
} from '@svc/contract/static-sites.ts';
import type { Result, View } from '../command.ts';
import type { Ctx } from '../context.ts';
import { CliError } from '../framework/errors.ts';
import { sanitize } from '../framework/text.ts';
import { carryOut } from '../mutation.ts';
import { executeLine } from '../output/plan.ts';
import { formatBytes } from '../output/progress.ts';
import { resolveTenant } from '../session/tenant.ts';
import { withTimeout } from '../session/waiting.ts';
import { type HashedFile, readRelease } from './gather-release.ts';
import { type Uploaded, uploadMissing } from './upload-missing.ts';

const requestMsMax = 5 * 60_000;
/** A file that disappears before finalization is uploaded once more. */
const roundsMax = 2;

export interface SiteDeployment {
  app: string;
  fromDir: string | undefined;
  version: string | undefined;
}

export async function deploySite(ctx: Ctx, deployment: SiteDeployment): Promise<Result> {
  const stage: DeployStage = { doing: 'reading', missing: 0, uploaded: { files: 0, bytes: 0 } };
  try {
    return await deploy(ctx, deployment, stage);
  } catch (cause) {
    if (cause instanceof ProblemError && cause.problem.code === 'unavailable' && stage.doing !== 'reading')
      ctx.note(`${progressText(stage)} ${next}`);
    throw addResumeAdvice(cause, stage);
  }
}

async function deploy(
  ctx: Ctx,
  { app, fromDir, version }: SiteDeployment,
  stage: DeployStage,
): Promise<Result> {
  const { files, config } = await readRelease(ctx, { app, fromDir });
  const params = { tenantID: await resolveTenant(ctx), app };
  const announced = files.map(({ path, sha256, size }) => ({ path, sha256, size }));
  const input = { params, body: { version, files: announced, config, on_finalize: 'deploy' as const } };
  const client = await ctx.client();
  const result = await carryOut(ctx, {
    preview: () => client.preview(createRelease, input, { signal: requestSignal(ctx) }),
    execute: async (plan) => {
      stage.doing = 'announcing';
      const options = { ...once(ctx), ifPlan: plan };
      const draft = await client.call(createRelease, input, options);
      const release = await complete(ctx, { ...params, release: draft.id }, { draft, files, stage });
      const { note, ...ending } = await deployOutcome(ctx, params, release);
      if (note !== null) ctx.note(note);
      return { value: { ...release, uploaded: stage.uploaded }, view: deployView, ...ending };
    },
  });
  return describeUnchanged(ctx, params, result);
}

interface StartedUpload {
  draft: { missing: string[]; upload_url: string };
  files: readonly HashedFile[];
  stage: DeployStage;
}

async function complete(
  ctx: Ctx,
  params: { tenantID: string; app: string; release: string },
  { draft, files, stage }: StartedUpload,
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

function requestSignal(ctx: Ctx): AbortSignal {
  return withTimeout(ctx, requestMsMax).signal;
}

function once(ctx: Ctx) {
  return { signal: requestSignal(ctx), idempotencyKey: crypto.randomUUID() };
}

function isIncomplete(cause: unknown): boolean {
  return cause instanceof ProblemError && cause.problem.code === 'release_incomplete';
}

export interface DeployStage {
  doing: 'reading' | 'announcing' | 'uploading' | 'finalizing';
  missing: number;
  uploaded: Uploaded;
}

const next = 'Run the same command again to resume.';

/** The server recognizes the draft and its uploaded files when the command runs again. */
export function addResumeAdvice(cause: unknown, stage: DeployStage): unknown {
  if (!(cause instanceof CliError) || !transientCodes.includes(cause.code)) return cause;
  if (stage.doing !== 'reading')
    return new CliError(cause.code, `${cause.message} ${progressText(stage)}`, { next, cause });
  return cause.code === 'interrupted'
    ? new CliError(cause.code, 'Interrupted. Nothing was uploaded.', { cause })
    : cause;
}

const transientCodes: readonly string[] = ['interrupted', 'no_connection', 'timeout'];

function progressText({ doing, missing, uploaded }: DeployStage): string {
  if (doing === 'finalizing') return 'All files are uploaded; the release may be finalized.';
  if (doing === 'announcing') return 'The site has not changed.';
  return `${uploaded.files} of ${missing} files are uploaded; the site has not changed.`;
}

export async function describeUnchanged(
  ctx: Ctx,
  params: { tenantID: string; app: string },
  result: Result,
): Promise<Result> {
  const { plan } = result.value as Partial<Preview>;
  if (plan === undefined || plan.changes.length > 0) return result;
  const client = await ctx.client();
  const input = { params: { ...params, release: plan.target.id } };
  const { number, state } = await client.call(getRelease, input);
  if (state !== 'draft')
    return {
      ...result,
      text: () => `Release ${number} is identical and in place. Nothing to do.\n`,
    };
  const line = executeLine(ctx.mutation.argv);
  return {
    ...result,
    text: () => `This release was started before and is unfinished. To resume:\n  ${line}\n`,
  };
}

export interface DeployOutcome extends Pick<Result, 'exit'> {
  note: string | null;
}

type AppParams = { tenantID: string; app: string };

export async function deployOutcome(
  ctx: Ctx,
  params: AppParams,
  release: MovedRelease,
): Promise<DeployOutcome> {
  const { number, pointer, url, changed } = release;
  const releaseFlags = `--release-id ${number} --app ${sanitize(params.app)} --execute`;
  if (pointer === null) return unplacedOutcome(ctx, params, { number, releaseFlags });
  const same = changed === false ? `Release ${number} is identical and was already ${pointer}. ` : '';
  const next =
    pointer === 'staged' ? reviewAdvice(releaseFlags) : url === null ? await hiddenReason(ctx, params) : '';
  return { note: `${same}${next}`.trim() || null };
}

function reviewAdvice(releaseFlags: string): string {
  return `Visitors see it after a review. Next: svc apps static releases promote-request ${releaseFlags}`;
}

async function hiddenReason(ctx: Ctx, params: AppParams): Promise<string> {
  // A token cannot read the app.
  if ((await ctx.session()).isLimited) return '';
  const { url } = await (await ctx.client()).call(getApp, { params });
  const app = sanitize(params.app);
  if (url === null)
    return `The app has no host yet. Next: svc apps update ${app} --subdomain <name> --execute`;
  return (
    `The running app responds at ${sanitize(url)} instead of the site, so nobody sees this release. ` +
    'Next: create another app for the site, svc apps create --deploy-method static'
  );
}

async function unplacedOutcome(
  ctx: Ctx,
  params: AppParams,
  { number, releaseFlags }: { number: number; releaseFlags: string },
): Promise<DeployOutcome> {
  const client = await ctx.client();
  const { active_release, staged_release } = await client.call(getSite, { params });
  const newer = [staged_release, active_release].find((other) => other !== null && other.number > number);
  if (newer) {
    const move = newer === staged_release ? 'stage' : 'activate';
    const stays = `Release ${newer.number} is newer and stays in place.`;
    return { note: `${stays} To show this one anyway: svc apps static releases ${move} ${releaseFlags}` };
  }
  const why =
    'The release is not shown: if the app is visible beyond its owners, a review on the staging host comes first.';
  const enable = `svc apps static site staging enable --app ${sanitize(params.app)} --execute`;
  return { note: `${why} Next: ${enable}, then svc apps static releases stage ${releaseFlags}`, exit: 11 };
}

export type MovedRelease = Answer<typeof shapes.finalizeRelease>;

export const deployView: View = {
  columns: ['id', 'number', 'version', 'pointer', 'url'],
  fields: [
    { title: 'release', value: ({ number }) => number },
    'id',
    'version',
    { title: 'files', value: (release) => `${release.files}, ${formatBytes(Number(release.bytes))}` },
    { title: 'uploaded', value: (release) => sentText(release.uploaded as Uploaded) },
    { title: 'shown as', value: ({ pointer, url }) => pointerText(pointer, url) },
    'url',
  ],
};

function pointerText(pointer: unknown, url: unknown): string {
  if (pointer === null) return 'not shown';
  return url === null ? `${pointer}, without a host` : `${pointer}`;
}

function sentText({ files, bytes }: Uploaded): string {
  return files === 0 ? 'none' : `${files}, ${formatBytes(bytes)}`;
}
