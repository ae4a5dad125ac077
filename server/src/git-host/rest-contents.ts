import { gitCommitPattern, isGitRef } from '@svc/contract/git-names.ts';
import { commitAnswer } from './answers.ts';
import { GitHubRefusal, githubJson, notFound } from './github-answer.ts';
import type { BranchAnswer, FileAnswer, FolderAnswer, SymlinkAnswer, TreeAnswer } from './github-types.ts';
import type { ReachedRepo } from './reach-repo.ts';
import {
  findCommit,
  type GitEntry,
  isRepositoryPath,
  readBlob,
  readCommits,
  readEntry,
  readRefs,
  readTree,
} from './read-repository.ts';
import { param, type RestCall, readableRepo } from './rest-call.ts';

/** What a file may have to be told within JSON, and at all. */
const jsonBytesMax = 1024 * 1024;
const rawBytesMax = 100 * 1024 * 1024;

interface Place {
  reached: ReachedRepo;
  folder: string;
  fullName: string;
}

async function placeOf(call: RestCall): Promise<Place> {
  const reached = await readableRepo(call);
  const folder = call.parts.folders.pathOf(reached.repo.folder);
  return { reached, folder, fullName: `${reached.owner.slug}/${reached.repo.name}` };
}

export async function getCommit(call: RestCall): Promise<Response> {
  const { git, urls } = call.parts;
  const { folder, fullName } = await placeOf(call);
  const ref = param(call, 'ref');
  const sha = await findCommit(git, folder, ref);
  const [commit] = sha === null ? [] : await readCommits(git, folder, { sha, max: 1 });
  if (commit) return githubJson(commitAnswer(urls, fullName, commit));
  await refuseEmpty(call, folder);
  throw new GitHubRefusal(422, `No commit found for SHA: ${ref}`);
}

export async function getTree(call: RestCall): Promise<Response> {
  const { git, urls } = call.parts;
  const { folder, fullName } = await placeOf(call);
  const named = param(call, 'ref');
  const sha = gitCommitPattern.test(named) ? named : await findCommit(git, folder, named);
  const depth = (call.url.searchParams.get('recursive') ?? '') === '' ? 'one' : 'all';
  const found = sha === null ? null : await readTree(git, folder, { sha, depth });
  if (sha === null || found === null) {
    await refuseEmpty(call, folder);
    throw notFound();
  }
  const api = `${urls.api}/repos/${fullName}/git`;
  const answer: TreeAnswer = {
    sha,
    url: `${api}/trees/${sha}`,
    tree: found.entries.map(({ path, mode, type, sha: id, size }) => ({
      path,
      mode,
      type,
      sha: id,
      ...(size === null ? {} : { size }),
      ...(type === 'commit' ? {} : { url: `${api}/${type}s/${id}` }),
    })),
    truncated: !found.isWhole,
  };
  return githubJson(answer);
}

export async function getBranch(call: RestCall): Promise<Response> {
  const { git, urls } = call.parts;
  const { folder, fullName } = await placeOf(call);
  const name = param(call, 'ref');
  const sha = isGitRef(name) ? ((await readRefs(git, folder))[`refs/heads/${name}`] ?? null) : null;
  const [commit] = sha === null ? [] : await readCommits(git, folder, { sha, max: 1 });
  if (!commit) throw new GitHubRefusal(404, 'Branch not found');
  const self = `${urls.api}/repos/${fullName}/branches/${encodeURIComponent(name)}`;
  const answer: BranchAnswer = {
    name,
    commit: commitAnswer(urls, fullName, commit),
    _links: { self, html: `${urls.web}/${fullName}/tree/${name}` },
    protected: false,
    protection: { enabled: false },
    protection_url: `${self}/protection`,
  };
  return githubJson(answer);
}

export async function getContents(call: RestCall): Promise<Response> {
  const { git } = call.parts;
  const place = await placeOf(call);
  const path = param(call, 'path').replace(/^\/+|\/+$/g, '');
  const ref = call.url.searchParams.get('ref') || place.reached.repo.default_branch;
  const commit = await findCommit(git, place.folder, ref);
  if (commit === null) {
    const isEmpty = Object.keys(await readRefs(git, place.folder)).length === 0;
    throw isEmpty
      ? new GitHubRefusal(404, 'This repository is empty.')
      : new GitHubRefusal(404, `No commit found for the ref ${ref}`);
  }
  if (path !== '' && !isRepositoryPath(path)) throw notFound();
  const entry = path === '' ? null : await readEntry(git, place.folder, { commit, path });
  if (path !== '' && entry === null) throw notFound();
  if (entry !== null && entry.type !== 'tree') return entryAnswer(call, place, ref, entry);
  const listed = await readTree(git, place.folder, { sha: entry?.sha ?? commit, depth: 'one' });
  const below = path === '' ? '' : `${path}/`;
  const answer: FolderAnswer = (listed?.entries ?? []).map((one) => ({
    ...shared(call, place, ref, { ...one, path: `${below}${one.path}` }),
    type: kindOf(one),
  }));
  return githubJson(answer);
}

async function entryAnswer(call: RestCall, place: Place, ref: string, entry: GitEntry): Promise<Response> {
  const { git } = call.parts;
  const facts = shared(call, place, ref, entry);
  const size = entry.size ?? 0;
  if (entry.type === 'commit') return githubJson({ ...facts, type: 'submodule', submodule_git_url: '' });
  if (entry.mode === '120000') {
    const target = (await readBlob(git, place.folder, { sha: entry.sha, bytesMax: 4096 }))?.toString('utf8');
    const link: SymlinkAnswer = { ...facts, type: 'symlink', target: target ?? '' };
    return githubJson(link);
  }
  const isRaw = /application\/vnd\.github\.(v3\.)?raw/.test(call.request.headers.get('accept') ?? '');
  const bytes =
    size <= (isRaw ? rawBytesMax : jsonBytesMax)
      ? await readBlob(git, place.folder, { sha: entry.sha, bytesMax: rawBytesMax })
      : null;
  if (size > rawBytesMax || (isRaw && bytes === null))
    throw new GitHubRefusal(403, 'This API returns blobs up to 100 MB in size.');
  if (isRaw) {
    const type = 'application/vnd.github.raw+json; charset=utf-8';
    const headers = { 'content-type': type, 'content-security-policy': "default-src 'none'; sandbox" };
    return new Response(new Uint8Array(bytes ?? []), { headers });
  }
  const file: FileAnswer = {
    ...facts,
    type: 'file',
    encoding: bytes === null ? 'none' : 'base64',
    content: bytes?.toString('base64').replace(/.{1,60}/g, '$&\n') ?? '',
  };
  return githubJson(file);
}

function shared(call: RestCall, { fullName }: Place, ref: string, entry: GitEntry) {
  const { urls } = call.parts;
  const path = entry.path.split('/').map(encodeURIComponent).join('/');
  const url = `${urls.api}/repos/${fullName}/contents/${path}?ref=${encodeURIComponent(ref)}`;
  const git = `${urls.api}/repos/${fullName}/git/${entry.type === 'tree' ? 'trees' : 'blobs'}/${entry.sha}`;
  const html = `${urls.web}/${fullName}/blob/${encodeURIComponent(ref)}/${path}`;
  return {
    name: entry.path.split('/').at(-1) ?? '',
    path: entry.path,
    sha: entry.sha,
    size: entry.size ?? 0,
    url,
    html_url: html,
    git_url: git,
    download_url: null,
    _links: { self: url, git, html },
  };
}

function kindOf({ type, mode }: GitEntry): 'dir' | 'file' | 'submodule' | 'symlink' {
  if (type === 'tree') return 'dir';
  if (type === 'commit') return 'submodule';
  return mode === '120000' ? 'symlink' : 'file';
}

async function refuseEmpty(call: RestCall, folder: string): Promise<void> {
  if (Object.keys(await readRefs(call.parts.git, folder)).length === 0)
    throw new GitHubRefusal(409, 'Git Repository is empty.');
}
