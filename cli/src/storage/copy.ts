import { resolve, sep } from 'node:path';
import { mapConcurrently } from '@svc/contract/concurrency.ts';
import { bareMediaType } from '@svc/contract/media-types.ts';
import type { Preview } from '@svc/contract/plan.ts';
import { copyObject, signUpload } from '@svc/contract/storage.ts';
import type { Result } from '../command.ts';
import type { Ctx } from '../context.ts';
import { usageError } from '../framework/errors.ts';
import { carryOut } from '../mutation.ts';
import { formatBytes, startByteProgress } from '../output/progress.ts';
import { planStaleError } from '../session/problems.ts';
import {
  type AppStorage,
  folderPrefix,
  listAllObjects,
  parseSide,
  resolveKey,
  type Side,
} from './storage.ts';
import {
  copyOne,
  downloadOne,
  filesBelow,
  localSource,
  printObject,
  saveObject,
  uploadInput,
  uploadObject,
  uploadOne,
} from './transfer.ts';

export interface Copy {
  source: string;
  target: string;
  what: 'one' | 'folder';
  contentType: string | undefined;
}

export function copyBetween(ctx: Ctx, storage: AppStorage, copy: Copy): Promise<Result> {
  const sides = { source: parseSide(copy.source), target: parseSide(copy.target) };
  return copy.what === 'folder'
    ? copyWholeFolder(ctx, storage, copy, sides)
    : copyOneObject(ctx, storage, copy, sides);
}

type Sides = { source: Side; target: Side };

function copyOneObject(
  ctx: Ctx,
  storage: AppStorage,
  copy: Copy,
  { source, target }: Sides,
): Promise<Result> {
  if (target.kind === 'object' && source.kind === 'object')
    return copyOne(ctx, storage, { from: source.key, to: target.key });
  if (target.kind === 'object') {
    const key = resolveKey(target.key, copy.source);
    return uploadOne(ctx, storage, {
      file: copy.source,
      key,
      contentType: copy.contentType ?? bareMediaType(key),
    });
  }
  const key = source.kind === 'object' ? source.key : '';
  return target.kind === 'standard'
    ? printObject(ctx, storage, key)
    : downloadOne(ctx, storage, { key, to: target.path });
}

async function copyWholeFolder(ctx: Ctx, storage: AppStorage, copy: Copy, sides: Sides): Promise<Result> {
  const { target } = copy;
  const steps = await planSteps(ctx, storage, copy, sides);
  if (sides.target.kind !== 'object') return copyFolder(ctx, storage, { steps, target });
  return carryOut(ctx, {
    preview: () => previewFolder(ctx, storage, { steps, target }),
    execute: (plan) => copyFolder(ctx, storage, { steps, target }, plan),
  });
}

async function planSteps(
  ctx: Ctx,
  storage: AppStorage,
  copy: Copy,
  { source, target }: Sides,
): Promise<CopyStep[]> {
  if (target.kind === 'object' && source.kind === 'object') return copySteps(storage, source.key, target.key);
  if (target.kind === 'object') return uploadSteps(ctx, copy.source, target.key, copy.contentType);
  return downloadSteps(storage, source.kind === 'object' ? source.key : '', copy.target);
}

const shownMax = 200;
const copiesAtOnce = 4;

export interface FolderCopy {
  steps: readonly CopyStep[];
  target: string;
}

export async function previewFolder(
  ctx: Ctx,
  storage: AppStorage,
  { steps, target }: FolderCopy,
): Promise<Preview> {
  const prefix = folderPrefix(target.slice(1));
  const there = new Map((await listAllObjects(storage, prefix)).map(({ key, size }) => [key, size]));
  await previewFirstStep(ctx, storage, steps[0]);
  const changes = steps.map(({ to, bytes }) => ({
    path: to,
    before: there.get(to) ?? null,
    after: bytes,
    effect: there.has(to) ? ('update' as const) : ('create' as const),
  }));
  const what = JSON.stringify([storage.params, steps, changes]);
  const replaced = changes.filter(({ effect }) => effect === 'update').length;
  return {
    dry_run: true,
    plan: {
      operation: 'storage.cp',
      target: { kind: 'folder', id: target, name: target },
      changes: changes.slice(0, shownMax),
      warnings: [
        ...(changes.length > shownMax ? [`${changes.length - shownMax} more changes are not shown.`] : []),
        ...(replaced > 0 ? [`${replaced} existing objects will be replaced.`] : []),
      ],
      irreversible: false,
      fingerprint: new Bun.CryptoHasher('sha256').update(what).digest('hex').slice(0, 32),
    },
  };
}

export async function copyFolder(
  ctx: Ctx,
  storage: AppStorage,
  copy: FolderCopy,
  plan?: string,
): Promise<Result> {
  if (plan !== undefined && (await previewFolder(ctx, storage, copy)).plan.fingerprint !== plan)
    throw planStaleError();
  const { steps, target } = copy;
  const bytes = steps.reduce((sum, step) => sum + step.bytes, 0);
  const progress = await startByteProgress(ctx, { doing: 'Copying', bytesTotal: bytes });
  try {
    await mapConcurrently(steps, copiesAtOnce, async (step) => {
      if (ctx.signal.aborted) throw ctx.signal.reason;
      if (step.kind === 'download') {
        await saveObject(ctx, storage, { key: step.key, path: step.to, progress });
      } else if (step.kind === 'copy') {
        const input = { params: storage.params, body: { from: step.from, to: step.to } };
        await storage.client.call(copyObject, input);
        progress.add(step.bytes);
      } else {
        const source = await localSource(ctx, step.path);
        await uploadObject(
          ctx,
          storage,
          { key: step.to, contentType: step.contentType, source },
          { progress },
        );
      }
    });
  } finally {
    progress.clear();
  }
  const value = { target, objects: steps.length, bytes };
  return { value, text: () => `${steps.length} copied to ${target}, ${formatBytes(bytes)}.\n` };
}

async function previewFirstStep(ctx: Ctx, storage: AppStorage, step: CopyStep | undefined): Promise<void> {
  const { client, params } = storage;
  const { signal } = ctx;
  if (step?.kind === 'copy')
    await client.preview(copyObject, { params, body: { from: step.from, to: step.to } }, { signal });
  if (step?.kind === 'upload') {
    const source = await localSource(ctx, step.path);
    const input = uploadInput(storage, { key: step.to, contentType: step.contentType, source });
    await client.preview(signUpload, input, { signal });
  }
}

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
    contentType: contentType ?? bareMediaType(path),
  }));
}

export async function copySteps(storage: AppStorage, from: string, to: string): Promise<CopyStep[]> {
  const [source, target] = [folderPrefix(from), folderPrefix(to)];
  if (target.startsWith(source)) throw usageError('A folder cannot be copied into itself.');
  const objects = await listAllObjects(storage, source);
  return objects.map(({ key, size }) => ({
    kind: 'copy',
    bytes: size,
    from: key,
    to: `${target}${key.slice(source.length)}`,
  }));
}

export async function downloadSteps(storage: AppStorage, from: string, folder: string): Promise<CopyStep[]> {
  const prefix = folderPrefix(from);
  const root = resolve(folder);
  return (await listAllObjects(storage, prefix)).map(({ key, size }) => {
    const to = resolve(root, key.slice(prefix.length));
    // A backslash in a key would be a path separator on Windows.
    if (!to.startsWith(root + sep) || (sep === '\\' && key.includes('\\')))
      throw usageError(
        `${key} cannot be stored below ${folder}.`,
        'Download it separately, under another name.',
      );
    return { kind: 'download', bytes: size, key, to };
  });
}
