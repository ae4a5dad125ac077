import { type SiteConfig, siteConfigBytesMax } from '@svc/contract/site-config.ts';
import {
  releaseBytesMax,
  releaseFileBytesMax,
  releaseFilesMax,
  sitePathClash,
  sitePathFault,
} from '@svc/contract/site-paths.ts';
import { fail, validationError } from '../../core/problem.ts';
import type { FileRow } from './file-store.ts';

const errorsMax = 100;

export function checkFiles(files: readonly FileRow[]): number {
  checkLimits(files);
  checkPaths(files);
  checkCollisions(files);
  const sizes = new Map<string, number>();
  let bytes = 0;
  for (const [at, { sha256, size }] of files.entries()) {
    bytes += size;
    if ((sizes.get(sha256) ?? size) !== size)
      throw validationError(
        `files[${at}].size`,
        'differs from the size of another file with the same digest',
      );
    sizes.set(sha256, size);
  }
  if (bytes > releaseBytesMax)
    throw fail('payload_too_large', {
      detail: `A release can have at most ${releaseBytesMax} bytes in total.`,
    });
  return bytes;
}

function checkLimits(files: readonly FileRow[]): void {
  if (files.length > releaseFilesMax)
    throw fail('payload_too_large', { detail: `A release can have at most ${releaseFilesMax} files.` });
  const at = files.findIndex(({ size }) => size > releaseFileBytesMax);
  if (at < 0) return;
  const field = `files[${at}].size`;
  const detail = `must be at most ${releaseFileBytesMax} bytes`;
  throw fail('payload_too_large', {
    detail: `${field}: ${detail}.`,
    errors: [{ field, code: 'too_large', detail }],
  });
}

export function checkKnownSizes(files: readonly FileRow[], known: ReadonlyMap<string, number>): void {
  for (const [at, { sha256, size }] of files.entries()) {
    if ((known.get(sha256) ?? size) !== size)
      throw validationError(`files[${at}].size`, 'is not the size of the stored file with this digest');
  }
}

function checkPaths(files: readonly FileRow[]): void {
  const errors = [];
  for (const [at, { path }] of files.entries()) {
    const fault = sitePathFault(path);
    if (fault === null) continue;
    errors.push({ field: `files[${at}].path`, code: 'invalid_path', detail: `${quotePath(path)} ${fault}` });
    if (errors.length === errorsMax) break;
  }
  const [first] = errors;
  if (first) throw fail('invalid_path', { detail: `${first.field}: ${first.detail}.`, errors });
}

function checkCollisions(files: readonly FileRow[]): void {
  const paths = files.map(({ path }) => path);
  const clash = sitePathClash(paths);
  if (!clash) return;
  const field = `files[${paths.lastIndexOf(clash.path)}].path`;
  const detail = `${quotePath(clash.path)} is the same as ${quotePath(clash.other)} on some file systems`;
  throw fail('path_collision', {
    detail: `${field}: ${detail}.`,
    errors: [{ field, code: 'path_collision', detail }],
  });
}

function quotePath(path: string): string {
  return JSON.stringify(path.length > 200 ? `${path.slice(0, 200)}…` : path);
}

export function checkConfigSize(config: SiteConfig, field: string): void {
  if (Buffer.byteLength(JSON.stringify(config)) > siteConfigBytesMax)
    throw validationError(field, `must be at most ${siteConfigBytesMax} bytes as JSON`);
}
