import { constants, gunzipSync } from 'node:zlib';
import { gitWebhookPath } from '@svc/contract/git-host.ts';
import { isGitRef } from '@svc/contract/git-names.ts';
import { inTransaction, type Tx } from '../../core/db.ts';
import { findTenant } from '../../people/tenants/tenants.ts';
import type { GitHostDeps } from './deps.ts';
import {
  botJson,
  organizationJson,
  type PushCommit,
  type PushEvent,
  repositoryJson,
  userJson,
} from './github-json.ts';
import {
  getTenantInstallation,
  insertDelivery,
  listHookRows,
  lockRepoForUpdate,
  type Refs,
  type RepoRow,
  saveRefs,
} from './host-store.ts';
import { type GitCommit, isAncestor, readCommits, readRefs } from './read-repository.ts';

const reportedChangesMax = 20;

/** The row lock makes each change reported once. The next push or the job reports those of an interrupted push. */
export async function notifyPushes(
  deps: Pick<GitHostDeps, 'db' | 'git' | 'folders' | 'urls' | 'baseUrl' | 'app' | 'now' | 'wakeDeliveries'>,
  { repoId, pusher }: { repoId: number; pusher: Pusher },
): Promise<RefChange[]> {
  const changes = await inTransaction(deps.db, async (tx) => {
    const repo = await lockRepoForUpdate(tx, repoId);
    if (!repo) return [];
    const refs = await readRefs(deps.git, deps.folders.path(repo.folder));
    const found = diffRefs(repo.refs, refs);
    if (found.length > 0) await recordChanges(deps, tx, { repo, refs, changes: found, pusher });
    return found;
  });
  if (changes.length > 0) deps.wakeDeliveries();
  return changes;
}

async function recordChanges(
  deps: Parameters<typeof notifyPushes>[0],
  tx: Tx,
  { repo, refs, changes, pusher }: { repo: RepoRow; refs: Refs; changes: RefChange[]; pusher: Pusher },
): Promise<void> {
  const now = deps.now();
  const defaultBranch = chooseDefaultBranch(repo.default_branch, refs);
  if (defaultBranch !== repo.default_branch) {
    const folder = deps.folders.path(repo.folder);
    await deps.git.read(folder, ['symbolic-ref', '--', 'HEAD', `refs/heads/${defaultBranch}`]);
  }
  await saveRefs(tx, repo.id, { refs, pushed_at: now, default_branch: defaultBranch });
  const hooks = (await listHookRows(tx, repo.id)).filter(
    (hook) => hook.is_active && (hook.events.includes('push') || hook.events.includes('*')),
  );
  if (hooks.length === 0) return;
  const slug = (await findTenant({ db: tx }, { ref: repo.tenant_id }))?.slug ?? '';
  const owner = { slug, installationId: (await getTenantInstallation(tx, repo.tenant_id)).id };
  const pushed = { ...repo, pushed_at: now, default_branch: defaultBranch };
  for (const change of changes.slice(0, reportedChangesMax)) {
    const payload = JSON.stringify(await buildPushEvent(deps, change, { repo: pushed, owner, pusher }));
    for (const hook of hooks) {
      const id = await insertDelivery(tx, { hook_id: hook.id, event: 'push', payload }, now);
      if (hook.url === `${deps.baseUrl}${gitWebhookPath}`) change.deliveryId = id;
    }
  }
}

export function diffRefs(before: Refs, after: Refs): RefChange[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return names
    .map((ref): RefChange => ({ ref, before: before[ref] ?? null, after: after[ref] ?? null }))
    .filter((change) => change.before !== change.after);
}

export function chooseDefaultBranch(known: string, refs: Refs): string {
  if (Object.hasOwn(refs, `refs/heads/${known}`)) return known;
  const branches = Object.keys(refs)
    .filter((ref) => ref.startsWith('refs/heads/'))
    .map((ref) => ref.slice('refs/heads/'.length))
    .filter(isGitRef);
  return branches.find((name) => name === 'main' || name === 'master') ?? branches[0] ?? known;
}

interface Pusher {
  id: number;
  login: string;
  email: string;
}

export interface RefChange {
  ref: string;
  before: string | null;
  after: string | null;
  deliveryId?: string;
}

export const noCommit = '0'.repeat(40);
const commitsMax = 20;

async function buildPushEvent(
  deps: Pick<GitHostDeps, 'git' | 'folders' | 'urls' | 'app'>,
  change: RefChange,
  { repo, owner, pusher }: { repo: RepoRow; owner: { slug: string; installationId: number }; pusher: Pusher },
): Promise<PushEvent> {
  const { urls, git } = deps;
  const folder = deps.folders.path(repo.folder);
  const { ref, before, after } = change;
  const fullName = `${owner.slug}/${repo.name}`;
  const toPushCommit = (commit: GitCommit) => pushCommit(`${urls.web}/${fullName}/commit/`, commit);
  const newest = after === null ? [] : await readCommits(git, folder, { sha: after, max: 1 });
  const range = { sha: after ?? '', max: commitsMax, not: before ?? undefined };
  const commits = after === null ? [] : await readCommits(git, folder, range);
  const isForced =
    before !== null && after !== null && !(await isAncestor(git, folder, { ancestor: before, of: after }));
  const { permissions: _, ...repository } = repositoryJson(urls, { repo, owner, canPush: false });
  const organization = organizationJson(urls, owner);
  return {
    ref,
    before: before ?? noCommit,
    after: after ?? noCommit,
    created: before === null,
    deleted: after === null,
    forced: isForced,
    base_ref: null,
    compare: `${urls.web}/${fullName}/compare/${(before ?? noCommit).slice(0, 12)}...${(after ?? noCommit).slice(0, 12)}`,
    commits: commits.map(toPushCommit).reverse(),
    head_commit: newest[0] ? toPushCommit(newest[0]) : null,
    pusher: { name: pusher.login, email: pusher.email },
    repository,
    organization: { login: organization.login, id: organization.id },
    sender: pusher.id === 0 ? botJson(urls, deps.app.current()) : userJson(urls, pusher),
    installation: { id: owner.installationId, node_id: '' },
  };
}

function pushCommit(webUrl: string, { sha, tree, message, author, committer }: GitCommit): PushCommit {
  return {
    id: sha,
    tree_id: tree,
    distinct: true,
    message,
    timestamp: committer.date,
    url: `${webUrl}${sha}`,
    author: { name: author.name, email: author.email },
    committer: { name: committer.name, email: committer.email },
  };
}

/** The commands in front of the pack of a push (gitprotocol-pack, "Reference Update Request"). */
export interface PushHead {
  branches: string[];
  options: string[];
  /** Without commands: git probes the connection like this before a large push. */
  isEmpty: boolean;
}

const headBytesMax = 256 * 1024;
const unknownHead: PushHead = { branches: [], options: [], isEmpty: false };

/** Consumes `body` as far as needed and returns what it consumed. A head that is too long is left to git. */
export async function readPushHead(
  body: AsyncIterator<Uint8Array>,
  { isCompressed }: { isCompressed: boolean },
): Promise<PushHead & { bytes: Buffer }> {
  let bytes = Buffer.alloc(0);
  for (;;) {
    const { done, value } = await body.next();
    if (!done) bytes = Buffer.concat([bytes, value]);
    const head = parsePushHead(isCompressed ? decompress(bytes) : bytes);
    if (head) return { ...head, bytes };
    if (done || bytes.length > headBytesMax) return { ...unknownHead, isEmpty: bytes.length === 0, bytes };
  }
}

function decompress(bytes: Buffer): Buffer {
  try {
    return gunzipSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: 8 * headBytesMax });
  } catch {
    return Buffer.alloc(0);
  }
}

const commandPattern = /^[0-9a-f]{40,64} (?!0+ )[0-9a-f]{40,64} refs\/heads\/([^\0]+)/;

export function parsePushHead(bytes: Buffer): PushHead | null {
  const commands = readPackets(bytes, 0);
  if (!commands) return null;
  const capabilities = commands.lines.flatMap((line) => line.split('\0')[1]?.trim().split(' ') ?? []);
  const options = capabilities.includes('push-options') ? readPackets(bytes, commands.end) : { lines: [] };
  if (!options) return null;
  return {
    branches: commands.lines.flatMap((line) => commandPattern.exec(line)?.[1]?.trimEnd() ?? []),
    options: options.lines.map((line) => line.trimEnd()),
    isEmpty: commands.lines.length === 0,
  };
}

/** Packets up to the next flush packet, or up to one that git will reject. */
function readPackets(bytes: Buffer, start: number): { lines: string[]; end: number } | null {
  const lines: string[] = [];
  for (let at = start; bytes.length >= at + 4; ) {
    const length = Number.parseInt(bytes.toString('latin1', at, at + 4), 16);
    if (length === 0 || !(length > 4)) return { lines, end: at + 4 };
    if (bytes.length < at + length) return null;
    lines.push(bytes.toString('utf8', at + 4, at + length));
    at += length;
  }
  return null;
}
