import { lstat, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sourceBytesMax } from '@svc/contract/deployments.ts';
import { manifestBytesMax, manifestFileNames } from '@svc/contract/manifest.ts';
import * as yaml from 'yaml';
import { findAppById } from '../../apps/record/find-app.ts';
import { appUrl } from '../../apps/record/rules.ts';
import type { AppRef } from '../../core/context.ts';
import { isDeepEqual } from '../../core/values.ts';
import type { Remote } from '../../drivers/git/git-client.ts';
import { GitError } from '../../drivers/git/run-git.ts';
import { findConnection } from '../git-connections/connections.ts';
import { openRemote } from '../git-connections/repositories.ts';
import { findTemplateSource, type TemplateSource } from '../templates/templates.ts';
import { canReadCode, canReadRepository, findForkSource } from './host-checks.ts';
import { firstBranch } from './rules.ts';
import { requireCreatedRepo } from './runs.ts';
import { type Step, StepError, type StepWork } from './step.ts';

/** Pushes only into an empty repository. A retry creates the same commit and finds it there. */
export const seedRepo: Step = async (work) => {
  const { deps, run } = work;
  const repo = requireCreatedRepo(run);
  const to = await openRemote(deps, { repo, repoId: repo.id, installationId: repo.installationId });
  const { seed } = run.input;
  const pushed =
    seed.kind === 'copy' ? await copySource(work, seed, to) : await pushTemplate(work, seed.templateId, to);
  const sha = pushed?.sha ?? (await loadHead(work));
  return async () => ({ state: 'done', output: { sha }, detail: `${firstBranch} is at ${sha.slice(0, 7)}.` });
};

/** If the repository has a commit of someone else, the run continues with that. */
async function loadHead({ deps: { gitHost }, run }: StepWork): Promise<string> {
  const repo = requireCreatedRepo(run);
  const head = await gitHost.asInstallation(repo.installationId, repo).commit(repo, firstBranch);
  if (!head)
    throw new StepError('push_rejected', `The repository is not empty and has no branch ${firstBranch}.`);
  return head.sha;
}

async function copySource(work: StepWork, { tenantId, appId }: AppRef, to: Remote) {
  const { deps, creator, signal } = work;
  const ctx = { db: deps.db, ...creator, now: work.run.created_at, requestId: work.run.id, log: deps.log };
  // Checked again: the creator may have lost access since the start.
  const source = await findForkSource(ctx, { ref: appId }).catch(() => null);
  const reader = { userId: creator.caller.userId, tenantId: creator.tenant.id };
  if (!source || !(await canReadCode(deps, source, reader)))
    throw new StepError('not_permitted', 'The code of the source is no longer readable.');
  const connection = await findConnection(deps.db, { tenantId, appId });
  if (!connection) throw new StepError('template_unavailable', 'The source no longer has a repository.');
  const from = await openRemote(deps, connection);
  const { name, email } = creator.caller;
  const edit = {
    names: manifestFileNames,
    fileBytesMax: manifestBytesMax,
    change: await manifestRename(work),
    author: { name, email },
    message: `Call it ${work.run.input.slug}`,
    at: work.run.created_at,
  };
  return deps.git.copyBranch({ from, fromRef: connection.branch, to, branch: firstBranch, signal, edit });
}

async function pushTemplate(work: StepWork, templateId: string, to: Remote): Promise<{ sha: string } | null> {
  const { deps, run, creator, signal } = work;
  const tenantId = run.tenant_id;
  const template = await findTemplateSource(deps, { tenantId, template: templateId }).catch((error) => {
    throw templateError(error);
  });
  const folder = join(deps.dataDir, 'bootstrap', run.id);
  await rm(folder, { recursive: true, force: true });
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await fillFolder(work, template, folder);
    const { name, email } = creator.caller;
    return await deps.git.pushFirst({
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

async function fillFolder(work: StepWork, template: TemplateSource, into: string): Promise<void> {
  const { deps, run, signal } = work;
  if ('write' in template) return template.write(into, await templateValues(work));
  const { repo, addedBy } = template;
  const adder = addedBy !== null && { tenantId: run.tenant_id, userId: addedBy };
  // A template is readable only while the user who added it can read its repository.
  if (!adder || !(await canReadRepository(deps, adder, repo))) throw templateError(null);
  const installation = await deps.gitHost.installationOfRepo(repo);
  if (!installation) throw templateError(null);
  const there = await deps.gitHost.asInstallation(installation.id).repository(repo);
  if (!there) throw templateError(null);
  const ref = template.ref ?? there.defaultBranch;
  const from = await openRemote(deps, { repo, repoId: there.id, installationId: installation.id });
  try {
    await deps.git.checkOut({ from, ref, into, signal, bytesMax: sourceBytesMax });
  } catch (error) {
    if (error instanceof GitError && error.reason !== 'unreachable') throw templateError(error);
    throw error;
  }
  await renameManifestsIn(into, await manifestRename(work));
}

async function renameManifestsIn(folder: string, change: (text: string) => string | null): Promise<void> {
  for (const path of manifestFileNames.map((name) => join(folder, name))) {
    const found = await lstat(path).catch(() => null);
    if (!found?.isFile() || found.size > manifestBytesMax) continue;
    const text = change(await readFile(path, 'utf8'));
    if (text !== null) await writeFile(path, text);
  }
}

/** Commands in a clone use the app in `svc.yaml`, which must be the new one. */
async function manifestRename(work: StepWork): Promise<(text: string) => string | null> {
  const { slug, name, tenant } = await templateValues(work);
  const { seed } = work.run.input;
  const isElsewhere = seed.kind === 'copy' && seed.tenantId !== work.run.tenant_id;
  return (text) => renameManifest(text, { slug, name, tenant: isElsewhere ? tenant : null });
}

async function templateValues({ deps, run, creator }: StepWork) {
  const app = run.app_id === null ? null : await findAppById(deps, { id: run.app_id });
  if (!app) throw new StepError('app_not_active', 'The app no longer exists.');
  return {
    slug: app.slug,
    name: app.name,
    base_url: deps.baseUrl,
    tenant: creator.tenant.slug,
    app_id: app.id,
    app_url: app.subdomain === null ? '' : appUrl(deps, app.subdomain),
  };
}

function templateError(cause: unknown): StepError {
  const why = cause instanceof Error ? ` ${cause.message}` : '';
  return Object.assign(new StepError('template_unavailable', `The template cannot be read.${why}`), {
    cause,
  });
}

interface ManifestNames {
  name: string;
  slug: string;
  tenant: string | null;
}

/** Keeps all other bytes. Null if nothing changes, or for an invalid file, which the next deployment reports. */
export function renameManifest(text: string, { name, slug, tenant }: ManifestNames): string | null {
  const values: [string[], string | null][] = [
    [['name'], name],
    [['app', 'slug'], slug],
    [['tenant'], tenant],
  ];
  const document = yaml.parseDocument(text, { stringKeys: true });
  if (document.errors.length > 0) return null;
  const edits = values
    .flatMap(([path, value]) => {
      const node: unknown = value === null ? undefined : document.getIn(path, true);
      if (value === null || !yaml.isScalar(node) || !node.range || node.value === value) return [];
      if (typeof node.value !== 'string') return [];
      return [{ path, value, from: node.range[0], to: node.range[1], style: node.type }];
    })
    .sort((a, b) => b.from - a.from);
  let changed = text;
  for (const { value, from, to, style } of edits) {
    const end = changed.slice(from, to).trimEnd().length;
    changed = changed.slice(0, from) + formatValue(value, style) + changed.slice(from + end);
  }
  return edits.length > 0 && isEditExact(changed, document, edits) ? changed : null;
}

/** Plain like before if the value allows it, otherwise quoted. */
function formatValue(value: string, style: string | undefined): string {
  const isPlain = /^[A-Za-z](?:[A-Za-z0-9 _-]*[A-Za-z0-9])?$/.test(value) && yaml.parse(value) === value;
  return style === 'PLAIN' && isPlain ? value : JSON.stringify(value);
}

/** Anchors and aliases could make an edit change other values too. */
function isEditExact(text: string, before: yaml.Document, edits: { path: string[]; value: string }[]) {
  try {
    const after = yaml.parseDocument(text, { stringKeys: true });
    const expected = new yaml.Document(before.toJS());
    for (const { path, value } of edits) expected.setIn(path, value);
    return after.errors.length === 0 && isDeepEqual(after.toJS(), expected.toJS());
  } catch {
    // Too many aliases, or an unresolved one.
    return false;
  }
}
