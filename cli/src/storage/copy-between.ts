import type { Result } from '../command.ts';
import type { Ctx } from '../context.ts';
import { carryOut } from '../mutation.ts';
import { contentTypeOf } from './content-type.ts';
import { copyFolder, previewFolder } from './copy-folder.ts';
import { type CopyStep, copySteps, downloadSteps, uploadSteps } from './copy-job.ts';
import { copyOne, downloadOne, printObject, uploadOne } from './copy-one.ts';
import { keyWithin, type Side, sideOf } from './sides.ts';
import type { StoragePlace } from './storage-place.ts';

export interface Copy {
  source: string;
  target: string;
  what: 'one' | 'folder';
  contentType: string | undefined;
}

export function copyBetween(ctx: Ctx, place: StoragePlace, copy: Copy): Promise<Result> {
  const sides = { source: sideOf(copy.source), target: sideOf(copy.target) };
  return copy.what === 'folder' ? folder(ctx, place, copy, sides) : one(ctx, place, copy, sides);
}

type Sides = { source: Side; target: Side };

function one(ctx: Ctx, place: StoragePlace, copy: Copy, { source, target }: Sides): Promise<Result> {
  if (target.kind === 'object' && source.kind === 'object')
    return copyOne(ctx, place, { from: source.key, to: target.key });
  if (target.kind === 'object') {
    const key = keyWithin(target.key, copy.source);
    return uploadOne(ctx, place, {
      file: copy.source,
      key,
      contentType: copy.contentType ?? contentTypeOf(key),
    });
  }
  const key = source.kind === 'object' ? source.key : '';
  return target.kind === 'standard'
    ? printObject(ctx, place, key)
    : downloadOne(ctx, place, { key, to: target.path });
}

async function folder(ctx: Ctx, place: StoragePlace, copy: Copy, sides: Sides): Promise<Result> {
  const { target } = copy;
  const steps = await stepsOf(ctx, place, copy, sides);
  if (sides.target.kind !== 'object') return copyFolder(ctx, place, { steps, target });
  return carryOut(ctx, {
    preview: () => previewFolder(ctx, place, { steps, target }),
    execute: (plan) => copyFolder(ctx, place, { steps, target }, plan),
  });
}

async function stepsOf(
  ctx: Ctx,
  place: StoragePlace,
  copy: Copy,
  { source, target }: Sides,
): Promise<CopyStep[]> {
  if (target.kind === 'object' && source.kind === 'object')
    return copySteps(ctx, place, source.key, target.key);
  if (target.kind === 'object') return uploadSteps(ctx, copy.source, target.key, copy.contentType);
  return downloadSteps(ctx, place, source.kind === 'object' ? source.key : '', copy.target);
}
