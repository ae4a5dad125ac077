import type { RuleHeaders } from './compile-config.ts';
import { type FileSetting, type PreparedFile, prepareFile } from './prepare-file.ts';
import type { SiteFile } from './site-snapshot.ts';

/** Files that were asked for at a site, ready to be sent again. */
export interface PreparedFiles {
  /** What answers at a path as it was sent; undefined: to be resolved. */
  at(path: string): PreparedFile | undefined;
  keepAt(path: string, file: PreparedFile): void;
  prepare(file: SiteFile, setting: Omit<FileSetting, 'site'>): PreparedFile;
}

/** Of one site: what is asked for beyond is made anew. */
const keptMax = 4_096;

export function createPreparedFiles(site: FileSetting['site']): PreparedFiles {
  const byPath = new Map<string, PreparedFile>();
  /** The same file under the same rules is the same object, so that a listener can keep what it makes of it. */
  const byRules = new Map<RuleHeaders, Map<string, PreparedFile>>();
  let kept = 0;

  return {
    at: (path) => byPath.get(path),
    keepAt(path, file) {
      if (byPath.size < keptMax) byPath.set(path, file);
    },
    prepare(file, setting) {
      const { rules, status, standsIn } = setting;
      const made = byRules.get(rules) ?? new Map<string, PreparedFile>();
      const key = `${status} ${standsIn} ${file.path}`;
      const known = made.get(key);
      if (known) return known;
      const prepared = prepareFile(file, { site, ...setting });
      if (kept < keptMax) {
        byRules.set(rules, made.set(key, prepared));
        kept++;
      }
      return prepared;
    },
  };
}
