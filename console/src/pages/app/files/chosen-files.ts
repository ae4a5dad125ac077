/** A file that somebody chose or dropped, with where it lay below what they chose. */
export interface ChosenFile {
  path: string;
  file: File;
}

/** Of an input: with `webkitdirectory` each file knows its path, whose first part is the chosen folder itself. */
export function chosenFiles(list: Iterable<File>): ChosenFile[] {
  return [...list].map((file) => ({
    path: file.webkitRelativePath === '' ? file.name : withoutFirst(file.webkitRelativePath),
    file,
  }));
}

/** Of a drop: all files below the folders in it; what a single folder holds is taken as if it had been opened. */
export async function droppedFiles(data: DataTransfer): Promise<ChosenFile[]> {
  // Taken at once: the browser empties the list as soon as this function waits for anything.
  const entries = [...data.items].flatMap((item) => item.webkitGetAsEntry() ?? []);
  const found = (await Promise.all(entries.map(filesBelow))).flat();
  const [only] = entries;
  return entries.length === 1 && only?.isDirectory
    ? found.map(({ path, file }) => ({ path: withoutFirst(path), file }))
    : found;
}

async function filesBelow(entry: FileSystemEntry): Promise<ChosenFile[]> {
  if (entry.isFile) {
    const { promise, resolve, reject } = Promise.withResolvers<File>();
    (entry as FileSystemFileEntry).file(resolve, reject);
    return [{ path: entry.fullPath.slice(1), file: await promise }];
  }
  const found: ChosenFile[] = [];
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  for (;;) {
    const { promise, resolve, reject } = Promise.withResolvers<FileSystemEntry[]>();
    reader.readEntries(resolve, reject);
    const some = await promise;
    if (some.length === 0) return found;
    for (const each of some) found.push(...(await filesBelow(each)));
  }
}

function withoutFirst(path: string): string {
  return path.slice(path.indexOf('/') + 1);
}
