import { gitCommitPattern, isGitRef } from '@svc/contract/git-names.ts';
import {
  type BranchJson,
  commitJson,
  type FileJson,
  type FolderJson,
  type SymlinkJson,
  type TreeJson,
} from './github-json.ts';
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
import {
  GitHubError,
  githubResponse,
  notFoundError,
  param,
  type RestCall,
  requireReadableRepository,
} from './rest-call.ts';

const jsonBytesMax = 1024 * 1024;
const rawBytesMax = 100 * 1024 * 1024;

type OpenRepository = Awaited<ReturnType<typeof openRepository>>;

async function openRepository(call: RestCall) {
  const access = await requireReadableRepository(call);
  const folder = call.deps.folders.path(access.repo.folder);
  return { access, folder, fullName: `${access.owner.slug}/${access.repo.name}` };
}

export async function getCommit(call: RestCall): Promise<Response> {
  const { git, urls } = call.deps;
  const { folder, fullName } = await openRepository(call);
  const ref = param(call, 'ref');
  const sha = await findCommit(git, folder, ref);
  const [commit] = sha === null ? [] : await readCommits(git, folder, { sha, max: 1 });
  if (commit) return githubResponse(commitJson(urls, fullName, commit));
  await rejectEmpty(call, folder);
  throw new GitHubError(422, `No commit found for SHA: ${ref}`);
}

export async function getTree(call: RestCall): Promise<Response> {
  const { git, urls } = call.deps;
  const { folder, fullName } = await openRepository(call);
  const named = param(call, 'ref');
  const sha = gitCommitPattern.test(named) ? named : await findCommit(git, folder, named);
  const depth = (call.url.searchParams.get('recursive') ?? '') === '' ? 'one' : 'all';
  const found = sha === null ? null : await readTree(git, folder, { sha, depth });
  if (sha === null || found === null) {
    await rejectEmpty(call, folder);
    throw notFoundError();
  }
  const api = `${urls.api}/repos/${fullName}/git`;
  const answer: TreeJson = {
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
    truncated: !found.isComplete,
  };
  return githubResponse(answer);
}

export async function getBranch(call: RestCall): Promise<Response> {
  const { git, urls } = call.deps;
  const { folder, fullName } = await openRepository(call);
  const name = param(call, 'ref');
  const sha = isGitRef(name) ? ((await readRefs(git, folder))[`refs/heads/${name}`] ?? null) : null;
  const [commit] = sha === null ? [] : await readCommits(git, folder, { sha, max: 1 });
  if (!commit) throw new GitHubError(404, 'Branch not found');
  const self = `${urls.api}/repos/${fullName}/branches/${encodeURIComponent(name)}`;
  const answer: BranchJson = {
    name,
    commit: commitJson(urls, fullName, commit),
    _links: { self, html: `${urls.web}/${fullName}/tree/${name}` },
    protected: false,
    protection: { enabled: false },
    protection_url: `${self}/protection`,
  };
  return githubResponse(answer);
}

export async function getContents(call: RestCall): Promise<Response> {
  const { git } = call.deps;
  const opened = await openRepository(call);
  const path = param(call, 'path').replace(/^\/+|\/+$/g, '');
  const ref = call.url.searchParams.get('ref') || opened.access.repo.default_branch;
  const commit = await findCommit(git, opened.folder, ref);
  if (commit === null) {
    const isEmpty = Object.keys(await readRefs(git, opened.folder)).length === 0;
    throw isEmpty
      ? new GitHubError(404, 'This repository is empty.')
      : new GitHubError(404, `No commit found for the ref ${ref}`);
  }
  if (path !== '' && !isRepositoryPath(path)) throw notFoundError();
  const entry = path === '' ? null : await readEntry(git, opened.folder, { commit, path });
  if (path !== '' && entry === null) throw notFoundError();
  if (entry !== null && entry.type !== 'tree') return entryResponse(call, opened, ref, entry);
  const listed = await readTree(git, opened.folder, { sha: entry?.sha ?? commit, depth: 'one' });
  const below = path === '' ? '' : `${path}/`;
  const answer: FolderJson = (listed?.entries ?? []).map((one) => ({
    ...contentJson(call, opened, ref, { ...one, path: `${below}${one.path}` }),
    type: contentKind(one),
  }));
  return githubResponse(answer);
}

async function entryResponse(call: RestCall, opened: OpenRepository, ref: string, entry: GitEntry) {
  const { git } = call.deps;
  const facts = contentJson(call, opened, ref, entry);
  const size = entry.size ?? 0;
  if (entry.type === 'commit') return githubResponse({ ...facts, type: 'submodule', submodule_git_url: '' });
  if (entry.mode === '120000') {
    const target = (await readBlob(git, opened.folder, { sha: entry.sha, bytesMax: 4096 }))?.toString('utf8');
    const link: SymlinkJson = { ...facts, type: 'symlink', target: target ?? '' };
    return githubResponse(link);
  }
  const isRaw = /application\/vnd\.github\.(v3\.)?raw/.test(call.request.headers.get('accept') ?? '');
  const bytes =
    size <= (isRaw ? rawBytesMax : jsonBytesMax)
      ? await readBlob(git, opened.folder, { sha: entry.sha, bytesMax: rawBytesMax })
      : null;
  if (size > rawBytesMax || (isRaw && bytes === null))
    throw new GitHubError(403, 'This API returns blobs up to 100 MB in size.');
  if (isRaw) {
    const type = 'application/vnd.github.raw+json; charset=utf-8';
    const headers = { 'content-type': type, 'content-security-policy': "default-src 'none'; sandbox" };
    return new Response(new Uint8Array(bytes ?? []), { headers });
  }
  const file: FileJson = {
    ...facts,
    type: 'file',
    encoding: bytes === null ? 'none' : 'base64',
    content: bytes?.toString('base64').replace(/.{1,60}/g, '$&\n') ?? '',
  };
  return githubResponse(file);
}

function contentJson(call: RestCall, { fullName }: OpenRepository, ref: string, entry: GitEntry) {
  const { urls } = call.deps;
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

function contentKind({ type, mode }: GitEntry): 'dir' | 'file' | 'submodule' | 'symlink' {
  if (type === 'tree') return 'dir';
  if (type === 'commit') return 'submodule';
  return mode === '120000' ? 'symlink' : 'file';
}

async function rejectEmpty(call: RestCall, folder: string): Promise<void> {
  if (Object.keys(await readRefs(call.deps.git, folder)).length === 0)
    throw new GitHubError(409, 'Git Repository is empty.');
}
