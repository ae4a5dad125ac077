import { lstat, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sourceBytesMax } from '@svc/contract/deployments.ts';
import { manifestBytesMax, manifestFileNames } from '@svc/contract/manifest.ts';
import { findAppById } from '../../apps/find-app-by-id.ts';
import { GitFailure, type Remote } from '../../drivers/git-client/git-client.ts';
import { connectionOf } from '../../git-connections/connection-of.ts';
import { remoteOf } from '../../git-connections/remote-of.ts';
import { appHome } from '../../identity/app-redirects.ts';
import { type TemplateSource, templateSource } from '../../templates/template-source.ts';
import { findSource } from '../find-source.ts';
import { mayReadCode, readsRepository } from '../may-read-code.ts';
import { madeRepo } from '../outputs.ts';
import { ownManifest } from '../own-manifest.ts';
import { firstBranch } from '../rules.ts';
import { StepRefused } from '../step-refused.ts';
import type { Step, StepWork } from '../step-work.ts';

/** Only into an empty repository. Tried again, the same files give the same commit, which is found there. */
export const seedRepo: Step = async (work) => {
  const { parts, run } = work;
  const repo = madeRepo(run);
  const to = await remoteOf(parts, { repo, repoId: repo.id, installationId: repo.installationId });
  const { seed } = run.input;
  const pushed =
    seed.kind === 'copy' ? await copy(work, seed, to) : await pushTemplate(work, seed.templateId, to);
  const sha = pushed?.sha ?? (await headOf(work));
  return async () => ({ state: 'done', output: { sha }, detail: `${firstBranch} is at ${sha.slice(0, 7)}.` });
};

/** Somebody was quicker with a commit of their own: the repository is this run's, so that commit counts. */
async function headOf({ parts: { gitHost }, run }: StepWork): Promise<string> {
  const repo = madeRepo(run);
  const head = await gitHost.asInstallation(repo.installationId, repo).commit(repo, firstBranch);
  if (!head)
    throw new StepRefused('push_rejected', `The repository is not empty, and has no branch ${firstBranch}.`);
  return head.sha;
}

async function copy(
  work: StepWork,
  { tenantId, appId }: { tenantId: string; appId: string },
  to: Remote,
): Promise<{ sha: string } | null> {
  const { parts, creator, signal } = work;
  const ctx = { db: parts.db, ...creator, now: work.run.created_at, requestId: work.run.id, log: parts.log };
  // Once more: the code may have been closed to them since the run was started.
  const source = await findSource(ctx, { ref: appId }).catch(() => null);
  const reader = { userId: creator.caller.userId, tenantId: creator.tenant.id };
  if (!source || !(await mayReadCode(parts, source, reader)))
    throw new StepRefused('not_permitted', 'The code of the source can not be read any more.');
  const connection = await connectionOf(parts.db, { tenantId, appId });
  if (!connection) throw new StepRefused('template_unavailable', 'The source has no repository any more.');
  const from = await remoteOf(parts, connection);
  const { name, email } = creator.caller;
  const edit = {
    names: manifestFileNames,
    fileBytesMax: manifestBytesMax,
    change: await ownManifestOf(work),
    author: { name, email },
    message: `Call it ${work.run.input.slug}`,
    at: work.run.created_at,
  };
  return parts.git.copyBranch({ from, fromRef: connection.branch, to, branch: firstBranch, signal, edit });
}

async function pushTemplate(work: StepWork, templateId: string, to: Remote): Promise<{ sha: string } | null> {
  const { parts, run, creator, signal } = work;
  const tenantId = run.tenant_id;
  const template = await templateSource(parts, { tenantId, template: templateId }).catch((error) => {
    throw unavailable(error);
  });
  const folder = join(parts.dataDir, 'bootstrap', run.id);
  // What a try before has left is not part of this one.
  await rm(folder, { recursive: true, force: true });
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await fill(work, template, folder);
    const { name, email } = creator.caller;
    return await parts.git.pushFirst({
      to,
      branch: firstBranch,
      folder,
      author: { name, email },
      message: `Begin with ${template.name}`,
      at: run.created_at,
      signal,
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function fill(work: StepWork, template: TemplateSource, into: string): Promise<void> {
  const { parts, run, signal } = work;
  if ('write' in template) return template.write(into, await valuesOf(work));
  const { repo, addedBy } = template;
  const adder = addedBy !== null && { tenantId: run.tenant_id, userId: addedBy };
  // What was closed to who added it is not handed out by it any more.
  if (!adder || !(await readsRepository(parts, adder, repo))) throw unavailable(null);
  const installation = await parts.gitHost.installationOfRepo(repo);
  if (!installation) throw unavailable(null);
  const there = await parts.gitHost.asInstallation(installation.id).repository(repo);
  if (!there) throw unavailable(null);
  const ref = template.ref ?? there.defaultBranch;
  const from = await remoteOf(parts, { repo, repoId: there.id, installationId: installation.id });
  try {
    await parts.git.checkOut({ from, ref, into, signal, bytesMax: sourceBytesMax });
  } catch (error) {
    if (error instanceof GitFailure && error.reason !== 'unreachable') throw unavailable(error);
    throw error;
  }
  await ownManifestIn(into, await ownManifestOf(work));
}

/** A template may be the repository of an app. */
async function ownManifestIn(folder: string, change: (text: string) => string | null): Promise<void> {
  for (const path of manifestFileNames.map((name) => join(folder, name))) {
    const found = await lstat(path).catch(() => null);
    if (!found?.isFile() || found.size > manifestBytesMax) continue;
    const text = change(await readFile(path, 'utf8'));
    if (text !== null) await writeFile(path, text);
  }
}

/** Commands in a clone go by what `svc.yaml` says: they are for this app, and not for the one it comes from. */
async function ownManifestOf(work: StepWork): Promise<(text: string) => string | null> {
  const { slug, name, tenant } = await valuesOf(work);
  const { seed } = work.run.input;
  const isElsewhere = seed.kind === 'copy' && seed.tenantId !== work.run.tenant_id;
  return (text) => ownManifest(text, { slug, name, tenant: isElsewhere ? tenant : null });
}

async function valuesOf({ parts, run, creator }: StepWork) {
  const app = run.app_id === null ? null : await findAppById(parts, { id: run.app_id });
  if (!app) throw new StepRefused('app_not_active', 'The app is not there any more.');
  return {
    slug: app.slug,
    name: app.name,
    base_url: parts.baseUrl,
    tenant: creator.tenant.slug,
    app_id: app.id,
    app_url: app.subdomain === null ? '' : appHome(parts, app.subdomain),
  };
}

function unavailable(cause: unknown): StepRefused {
  const why = cause instanceof Error ? ` ${cause.message}` : '';
  return Object.assign(new StepRefused('template_unavailable', `The template can not be read.${why}`), {
    cause,
  });
}
