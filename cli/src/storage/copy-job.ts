import { resolve, sep } from 'node:path';
import type { Ctx } from '../context.ts';
import { usage } from '../errors.ts';
import { contentTypeOf } from './content-type.ts';
import { listAllObjects } from './list-all-objects.ts';
import { filesBelow } from './local-source.ts';
import { folderPrefix } from './sides.ts';
import type { StoragePlace } from './storage-place.ts';

/** One of the many that a folder holds. */
export type CopyStep = { bytes: number; to: string } & (
  | { kind: 'upload'; path: string; contentType: string }
  | { kind: 'copy'; from: string }
  | { kind: 'download'; key: string }
);

export async function uploadSteps(
  ctx: Ctx,
  folder: string,
  to: string,
  contentType?: string,
): Promise<CopyStep[]> {
  const prefix = folderPrefix(to);
  return (await filesBelow(ctx, folder)).map(({ path, below, bytes }) => ({
    kind: 'upload',
    bytes,
    path,
    to: `${prefix}${below}`,
    contentType: contentType ?? contentTypeOf(path),
  }));
}

export async function copySteps(
  ctx: Ctx,
  place: StoragePlace,
  from: string,
  to: string,
): Promise<CopyStep[]> {
  const [source, target] = [folderPrefix(from), folderPrefix(to)];
  if (target.startsWith(source)) throw usage('A folder can not be copied into itself.');
  const objects = await listAllObjects(ctx, place, source);
  return objects.map(({ key, size }) => ({
    kind: 'copy',
    bytes: size,
    from: key,
    to: `${target}${key.slice(source.length)}`,
  }));
}

export async function downloadSteps(
  ctx: Ctx,
  place: StoragePlace,
  from: string,
  folder: string,
): Promise<CopyStep[]> {
  const prefix = folderPrefix(from);
  const root = resolve(folder);
  return (await listAllObjects(ctx, place, prefix)).map(({ key, size }) => {
    const to = resolve(root, key.slice(prefix.length));
    // Keys go nowhere by themselves; on some systems a backslash in one would.
    if (!to.startsWith(root + sep) || (sep === '\\' && key.includes('\\')))
      throw usage(`${key} has no place below ${folder}.`, 'Download it by itself, under another name.');
    return { kind: 'download', bytes: size, key, to };
  });
}
