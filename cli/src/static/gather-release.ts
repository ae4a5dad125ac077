import { join } from 'node:path';
import { mapConcurrently } from '@svc/contract/concurrency.ts';
import {
  type HostingFiles,
  hostingFileBytesMax,
  projectHostingFiles,
  publishedHostingFiles,
  readHostingFiles,
  withHostingRules,
} from '@svc/contract/hosting-files.shapes.ts';
import type { SiteConfig } from '@svc/contract/site-config.shapes.ts';
import {
  releaseBytesMax,
  releaseFileBytesMax,
  sitePathClash,
  sitePathFault,
} from '@svc/contract/site-paths.ts';
import type { z } from 'zod';
import type { Ctx } from '../context.ts';
import { sanitize } from '../framework/text.ts';
import { readFileText } from '../inputs/files.ts';
import { formatBytes, startSiteProgress } from '../output/progress.ts';
import { countText, rejectionError } from '../session/problems.ts';
import { configFileNames, isPlainFile, releaseConfig, resolveSiteFolder } from './site-config.ts';
import { printExcluded, readSiteFile, type SiteFile, walkSite } from './site-files.ts';

interface LocalRelease {
  files: HashedFile[];
  config: z.output<typeof SiteConfig>;
}

export async function readRelease(
  ctx: Ctx,
  { app, fromDir }: { app: string; fromDir: string | undefined },
): Promise<LocalRelease> {
  const folder = await resolveSiteFolder(ctx, { app, fromDir });
  const own = await releaseConfig(ctx, folder, app);
  const rules = readHostingFiles(await readHosting(folder.absolutePath), Bun.TOML.parse);
  for (const text of rules.unsupported) ctx.note(`Not applied: ${sanitize(text)}.`);
  const config = withHostingRules(own, rules);
  const { files, leftOut } = walkSite(folder.absolutePath, notServed);
  printExcluded(ctx, leftOut);
  checkSiteFiles(folder.shown, files);
  return { files: await hashSite(ctx, files), config };
}

const hostingFileNames = [...publishedHostingFiles, ...projectHostingFiles];
const notServed = new Set([...configFileNames, ...hostingFileNames]);

async function readHosting(folder: string): Promise<HostingFiles> {
  const found: HostingFiles = {};
  for (const name of hostingFileNames) {
    const path = join(folder, name);
    if (isPlainFile(path)) found[name] = await readFileText(path, { bytesMax: hostingFileBytesMax });
  }
  return found;
}

export interface HashedFile extends SiteFile {
  sha256: string;
}

const filesAtOnce = 16;

async function hashSite(ctx: Ctx, files: readonly SiteFile[]): Promise<HashedFile[]> {
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  const progress = await startSiteProgress(ctx, { doing: 'Hashing', files: files.length, bytes });
  const digests = new Map<SiteFile, string>();
  try {
    await mapConcurrently(files, filesAtOnce, async (file) => {
      if (ctx.signal.aborted) throw ctx.signal.reason;
      const hasher = new Bun.CryptoHasher('sha256');
      await readSiteFile(file, (chunk) => {
        hasher.update(chunk);
      });
      digests.set(file, hasher.digest('hex'));
      progress.add(file.size);
    });
  } finally {
    progress.clear();
  }
  return files.map((file) => ({ ...file, sha256: digests.get(file) ?? '' }));
}

export function checkSiteFiles(folder: string, files: readonly SiteFile[]): void {
  if (files.length === 0)
    throw rejectionError('validation_failed', {
      detail: `${folder} contains no files.`,
      next: 'Build the site first, and pass the output folder.',
    });
  checkPaths(files);
  checkCollisions(files);
  checkSizes(folder, files);
}

function checkPaths(files: readonly SiteFile[]): void {
  const items = files.flatMap(({ path }) => {
    const fault = sitePathFault(path);
    return fault === null ? [] : [{ field: path, code: 'invalid_path', detail: fault }];
  });
  if (items.length === 0) return;
  throw rejectionError('invalid_path', {
    detail: countText(items.length, 'path is not valid in a site', 'paths are not valid in a site'),
    next: 'Rename the files, or remove them from the folder.',
    items,
  });
}

function checkCollisions(files: readonly SiteFile[]): void {
  const clash = sitePathClash(files.map(({ path }) => path));
  if (clash === null) return;
  const { path, other } = clash;
  const how =
    path === other
      ? `two files are named ${path} and differ in their Unicode form only (NFC and NFD)`
      : `${other} and ${path} are not distinguishable on all systems, or use the same name for a file and a folder`;
  throw rejectionError('path_collision', {
    detail: `In this folder, ${how}.`,
    next: 'Rename one of the two.',
    items: [{ field: path, code: 'path_collision', detail: `collides with ${other}` }],
  });
}

function checkSizes(folder: string, files: readonly SiteFile[]): void {
  const items = files
    .filter(({ size }) => size > releaseFileBytesMax)
    .map(({ path, size }) => ({ field: path, code: 'too_big', detail: `has ${formatBytes(size)}` }));
  const limit = formatBytes(releaseFileBytesMax);
  if (items.length > 0)
    throw rejectionError('payload_too_large', {
      detail: countText(items.length, `file is larger than ${limit}`, `files are larger than ${limit}`),
      next: 'Use smaller files, or the storage of the app: svc apps storage put.',
      items,
    });
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  if (bytes <= releaseBytesMax) return;
  throw rejectionError('payload_too_large', {
    detail: `${folder} contains ${formatBytes(bytes)}; the limit of a release is ${formatBytes(releaseBytesMax)}.`,
    next: 'Remove files that the site does not need.',
  });
}
