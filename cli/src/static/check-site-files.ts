import {
  releaseBytesMax,
  releaseFileBytesMax,
  sitePathClash,
  sitePathFault,
} from '@svc/contract/site-paths.ts';
import { readable } from '../storage/byte-progress.ts';
import { named, refused } from './refused.ts';
import type { SiteFile } from './walk-site.ts';

/** Refuses what the server would refuse, before anything is read or sent, by the names that the files have here. */
export function checkSiteFiles(folder: string, files: readonly SiteFile[]): void {
  if (files.length === 0)
    throw refused('validation_failed', {
      detail: `${folder} holds no file of a site.`,
      next: 'Build the site first, and give the folder that the build made.',
    });
  refusePaths(files);
  refuseClash(files);
  refuseSizes(folder, files);
}

function refusePaths(files: readonly SiteFile[]): void {
  const items = files.flatMap(({ path }) => {
    const fault = sitePathFault(path);
    return fault === null ? [] : [{ field: path, code: 'invalid_path', detail: fault }];
  });
  if (items.length === 0) return;
  throw refused('invalid_path', {
    detail: named(items.length, 'path can not be one of a site', 'paths can not be of a site'),
    next: 'Rename the files, or leave them out of the folder.',
    items,
  });
}

function refuseClash(files: readonly SiteFile[]): void {
  const clash = sitePathClash(files.map(({ path }) => path));
  if (clash === null) return;
  const { path, other } = clash;
  const how =
    path === other
      ? `two files are named ${path}, and differ only in how its letters are composed (NFC and NFD)`
      : `${other} and ${path} can not be told apart everywhere, or need the same name for a file and a folder`;
  throw refused('path_collision', {
    detail: `In this folder, ${how}.`,
    next: 'Rename one of the two.',
    items: [{ field: path, code: 'path_collision', detail: `collides with ${other}` }],
  });
}

function refuseSizes(folder: string, files: readonly SiteFile[]): void {
  const items = files
    .filter(({ size }) => size > releaseFileBytesMax)
    .map(({ path, size }) => ({ field: path, code: 'too_big', detail: `has ${readable(size)}` }));
  const limit = readable(releaseFileBytesMax);
  if (items.length > 0)
    throw refused('payload_too_large', {
      detail: named(items.length, `file is larger than ${limit}`, `files are larger than ${limit}`),
      next: 'Make them smaller, or keep them in the storage of the app: svc apps storage put.',
      items,
    });
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  if (bytes <= releaseBytesMax) return;
  throw refused('payload_too_large', {
    detail: `${folder} holds ${readable(bytes)}, more than the ${readable(releaseBytesMax)} of a release.`,
    next: 'Leave out what the site does not need.',
  });
}
