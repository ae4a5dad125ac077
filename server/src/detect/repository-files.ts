import type { RepoName, RepositoryReader, TreeEntry } from '../drivers/git-host/git-host.ts';
import { type SourceFiles, sourceFileBytesMax } from './source-files.ts';

/** Of a repository at the git host, below a folder of it; null where there is no such folder. */
export function repositoryFiles(
  reader: Pick<RepositoryReader, 'readFile'>,
  of: { repo: RepoName; sha: string; entries: readonly TreeEntry[]; folder: string },
): SourceFiles | null {
  const { repo, sha, entries } = of;
  const prefix = of.folder === '' ? '' : `${of.folder}/`;
  const files = entries.filter(({ kind, path }) => kind === 'file' && path.startsWith(prefix));
  if (prefix !== '' && files.length === 0) return null;
  const paths = new Set(files.map(({ path }) => path.slice(prefix.length)));
  return {
    paths,
    read: async (path) =>
      paths.has(path)
        ? reader.readFile(repo, { path: prefix + path, ref: sha, bytesMax: sourceFileBytesMax })
        : null,
  };
}
