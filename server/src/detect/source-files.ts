/** Source as detection sees it, wherever it is: which files there are, and what stands in the few that tell something. */
export interface SourceFiles {
  /** Relative, with slashes; files only. */
  paths: ReadonlySet<string>;
  /** Null where it is not there, is no plain file or is too large to be read. */
  read(path: string): Promise<string | null>;
}

export const sourceFileBytesMax = 1024 * 1024;
