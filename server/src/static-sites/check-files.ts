import {
  releaseBytesMax,
  releaseFileBytesMax,
  releaseFilesMax,
  sitePathClash,
  sitePathFault,
} from '@svc/contract/site-paths.ts';
import { fail, invalid } from '../plumbing/problem.ts';
import type { FileRow } from './file-store.ts';

const errorsMax = 100;

/** What no release may list, whatever has arrived of it. Answers how many bytes there are in all. */
export function checkFiles(files: readonly FileRow[]): number {
  refuseTooMuch(files);
  refuseFaults(files);
  refuseClash(files);
  const sizes = new Map<string, number>();
  let bytes = 0;
  for (const [at, { sha256, size }] of files.entries()) {
    bytes += size;
    if ((sizes.get(sha256) ?? size) !== size)
      throw invalid(`files[${at}].size`, 'is another than that of a file with the same sum');
    sizes.set(sha256, size);
  }
  if (bytes > releaseBytesMax)
    throw fail('payload_too_large', { detail: `A release may be at most ${releaseBytesMax} bytes in all.` });
  return bytes;
}

function refuseTooMuch(files: readonly FileRow[]): void {
  if (files.length > releaseFilesMax)
    throw fail('payload_too_large', { detail: `A release may have at most ${releaseFilesMax} files.` });
  const at = files.findIndex(({ size }) => size > releaseFileBytesMax);
  if (at < 0) return;
  const field = `files[${at}].size`;
  const detail = `must be at most ${releaseFileBytesMax} bytes`;
  throw fail('payload_too_large', {
    detail: `${field}: ${detail}.`,
    errors: [{ field, code: 'too_large', detail }],
  });
}

/** A sum that is known stands for bytes that are known, and for how many they are. */
export function checkKnownSizes(files: readonly FileRow[], known: ReadonlyMap<string, number>): void {
  for (const [at, { sha256, size }] of files.entries()) {
    if ((known.get(sha256) ?? size) !== size)
      throw invalid(`files[${at}].size`, 'is not the size of what has this sum');
  }
}

function refuseFaults(files: readonly FileRow[]): void {
  const errors = [];
  for (const [at, { path }] of files.entries()) {
    const fault = sitePathFault(path);
    if (fault === null) continue;
    errors.push({ field: `files[${at}].path`, code: 'invalid_path', detail: `${named(path)} ${fault}` });
    if (errors.length === errorsMax) break;
  }
  const [first] = errors;
  if (first) throw fail('invalid_path', { detail: `${first.field}: ${first.detail}.`, errors });
}

function refuseClash(files: readonly FileRow[]): void {
  const paths = files.map(({ path }) => path);
  const clash = sitePathClash(paths);
  if (!clash) return;
  const field = `files[${paths.lastIndexOf(clash.path)}].path`;
  const detail = `${named(clash.path)} can not be told from ${named(clash.other)} everywhere`;
  throw fail('path_collision', {
    detail: `${field}: ${detail}.`,
    errors: [{ field, code: 'path_collision', detail }],
  });
}

/** In quotes, with what can not be seen spelt out, and never long. */
function named(path: string): string {
  return JSON.stringify(path.length > 200 ? `${path.slice(0, 200)}…` : path);
}
