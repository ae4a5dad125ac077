export interface SourceFiles {
  paths: ReadonlySet<string>;
  /** Null if the file does not exist, is not a regular file or is larger than `sourceFileBytesMax`. */
  read(path: string): Promise<string | null>;
}

export const sourceFileBytesMax = 1024 * 1024;
export const sourceFilesMax = 20_000;
const depthMax = 3;
const ignoredFolders: ReadonlySet<string> = new Set(['node_modules', '.git', 'vendor', 'target']);

export function isDetectable(path: string): boolean {
  const folders = path.split('/');
  folders.pop();
  return folders.length < depthMax && !folders.some((name) => ignoredFolders.has(name));
}

export interface FolderEntry {
  name: string;
  isFile(): boolean;
  isDirectory(): boolean;
}

export async function listSourceFiles(
  readFolder: (path: string) => Promise<readonly FolderEntry[]>,
): Promise<Set<string>> {
  const paths = new Set<string>();
  const walk = async (folder: string): Promise<void> => {
    for (const entry of await readFolder(folder)) {
      if (paths.size >= sourceFilesMax) return;
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (entry.isFile()) paths.add(path);
      else if (entry.isDirectory() && isDetectable(`${path}/file`)) await walk(path);
    }
  };
  await walk('');
  return paths;
}
