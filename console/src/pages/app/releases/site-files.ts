import {
  isLeftOutOfSite,
  releaseBytesMax,
  releaseFileBytesMax,
  releaseFilesMax,
  sitePathClash,
  sitePathFault,
} from '@svc/contract/site-paths.ts';
import { formatBytes } from '../../../components/format.ts';

export interface SiteFiles<F> {
  files: { path: string; file: F }[];
  bytes: number;
  leftOut: string[];
  faults: string[];
}

export function selectSiteFiles<F extends { size: number }>(
  chosen: readonly { path: string; file: F }[],
): SiteFiles<F> {
  const leftOut = new Set<string>();
  const files: SiteFiles<F>['files'] = [];
  for (const { path, file } of chosen) {
    const passed = excludedPart(path);
    if (passed === null) files.push({ path: path.normalize('NFC'), file });
    else leftOut.add(passed);
  }
  files.sort((one, other) => (one.path < other.path ? -1 : 1));
  const bytes = files.reduce((sum, { file }) => sum + file.size, 0);
  return { files, bytes, leftOut: [...leftOut].sort(), faults: siteFileErrors(files, bytes) };
}

const manifests: ReadonlySet<string> = new Set(['svc.yaml', 'svc.yml', 'svc.json']);

function excludedPart(path: string): string | null {
  if (manifests.has(path)) return path;
  const parts = path.split('/');
  const at = parts.findIndex((name, depth) => isLeftOutOfSite(name, depth));
  return at < 0 ? null : parts.slice(0, at + 1).join('/');
}

const errorsMax = 20;

function siteFileErrors(files: readonly { path: string; file: { size: number } }[], bytes: number): string[] {
  if (files.length === 0) return ['This folder has no files to deploy.'];
  if (files.length > releaseFilesMax)
    return [`The folder has ${files.length} files; a release has at most ${releaseFilesMax}.`];
  const faults = files.flatMap(({ path, file }) => {
    const fault = sitePathFault(path);
    if (fault !== null) return [`${path} ${fault}.`];
    return file.size > releaseFileBytesMax
      ? [`${path} has ${formatBytes(file.size)}; a file has at most ${formatBytes(releaseFileBytesMax)}.`]
      : [];
  });
  const clash = sitePathClash(files.map(({ path }) => path));
  if (clash) faults.push(`${clash.other} and ${clash.path} cannot both exist.`);
  if (bytes > releaseBytesMax)
    faults.push(
      `The folder has ${formatBytes(bytes)}; a release has at most ${formatBytes(releaseBytesMax)}.`,
    );
  return faults.slice(0, errorsMax);
}
