import {
  isLeftOutOfSite,
  releaseBytesMax,
  releaseFileBytesMax,
  releaseFilesMax,
  sitePathClash,
  sitePathFault,
} from '@svc/contract/site-paths.ts';
import { readableBytes } from '../../../parts/readable-bytes.ts';

export interface Picked<F> {
  files: { path: string; file: F }[];
  bytes: number;
  /** What lies in the folder and is not of the site, each folder once. */
  leftOut: string[];
  /** Why these files can not be a release; empty for a release. */
  faults: string[];
}

/** What of a folder is a site: the same that `svc apps static deploy` would take of it. */
export function pickSiteFiles<F extends { size: number }>(
  chosen: readonly { path: string; file: F }[],
): Picked<F> {
  const leftOut = new Set<string>();
  const files: Picked<F>['files'] = [];
  for (const { path, file } of chosen) {
    const passed = passedOver(path);
    if (passed === null) files.push({ path: path.normalize('NFC'), file });
    else leftOut.add(passed);
  }
  files.sort((one, other) => (one.path < other.path ? -1 : 1));
  const bytes = files.reduce((sum, { file }) => sum + file.size, 0);
  return { files, bytes, leftOut: [...leftOut].sort(), faults: faultsOf(files, bytes) };
}

/** Read by the tools of the platform, and no part of what visitors see. */
const manifests: ReadonlySet<string> = new Set(['svc.yaml', 'svc.yml', 'svc.json']);

/** The part of the path that keeps it out. */
function passedOver(path: string): string | null {
  if (manifests.has(path)) return path;
  const parts = path.split('/');
  const at = parts.findIndex((name, depth) => isLeftOutOfSite(name, depth));
  return at < 0 ? null : parts.slice(0, at + 1).join('/');
}

const faultsMax = 20;

function faultsOf(files: readonly { path: string; file: { size: number } }[], bytes: number): string[] {
  if (files.length === 0) return ['There is no file of a site in this folder.'];
  if (files.length > releaseFilesMax)
    return [`These are ${files.length} files; a release has ${releaseFilesMax} at most.`];
  const faults = files.flatMap(({ path, file }) => {
    const fault = sitePathFault(path);
    if (fault !== null) return [`${path} ${fault}.`];
    return file.size > releaseFileBytesMax
      ? [`${path} has ${readableBytes(file.size)}; a file has ${readableBytes(releaseFileBytesMax)} at most.`]
      : [];
  });
  const clash = sitePathClash(files.map(({ path }) => path));
  if (clash) faults.push(`${clash.other} and ${clash.path} can not both be there.`);
  if (bytes > releaseBytesMax)
    faults.push(
      `These are ${readableBytes(bytes)}; a release has ${readableBytes(releaseBytesMax)} at most.`,
    );
  return faults.slice(0, faultsMax);
}
