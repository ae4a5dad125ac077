import { stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { copyObject, signUpload } from '@svc/contract/storage.ts';
import type { Result } from '../command.ts';
import type { Ctx } from '../context.ts';
import { carryOut, mutate } from '../mutation.ts';
import { readable, startByteProgress } from './byte-progress.ts';
import { downloadObject } from './download-object.ts';
import { localSource } from './local-source.ts';
import { saveObject } from './save-object.ts';
import { keyWithin } from './sides.ts';
import type { StoragePlace } from './storage-place.ts';
import { type UploadJob, uploadInput, uploadObject } from './upload-object.ts';

export async function uploadOne(
  ctx: Ctx,
  place: StoragePlace,
  job: Omit<UploadJob, 'source'> & { file: string },
): Promise<Result> {
  const source = await localSource(ctx, job.file);
  const upload = { key: job.key, contentType: job.contentType, source };
  return carryOut(ctx, {
    preview: () => place.client.preview(signUpload, uploadInput(place, upload), { signal: ctx.signal }),
    execute: async (plan) => {
      const progress = await startByteProgress(ctx, { doing: 'Uploading', bytesTotal: source.bytes });
      try {
        const { key, size, content_type, sha256 } = await uploadObject(ctx, place, upload, {
          progress,
          plan,
        });
        return { value: { key, size, content_type, sha256 } };
      } finally {
        progress.clear();
      }
    },
  });
}

export function copyOne(
  ctx: Ctx,
  place: StoragePlace,
  { from, to }: { from: string; to: string },
): Promise<Result> {
  return mutate(ctx, copyObject, { params: place.params, body: { from, to: keyWithin(to, from) } });
}

/** To a file, or into a folder that is there. Nothing changes on the platform, so there is nothing to preview. */
export async function downloadOne(
  ctx: Ctx,
  place: StoragePlace,
  { key, to }: { key: string; to: string },
): Promise<Result> {
  const isFolder =
    /[/\\]$/.test(to) ||
    (await stat(to).then(
      (entry) => entry.isDirectory(),
      () => false,
    ));
  const path = isFolder ? join(to, basename(key)) : to;
  const progress = await startByteProgress(ctx, { doing: 'Downloading', bytesTotal: null });
  try {
    const bytes = await saveObject(ctx, place, { key, path, progress });
    return { value: { key, file: path, bytes }, text: () => `${path}, ${readable(bytes)}.\n` };
  } finally {
    progress.clear();
  }
}

/** To standard output, as it comes. */
export async function printObject(ctx: Ctx, place: StoragePlace, key: string): Promise<Result> {
  const progress = { add: () => {}, clear: () => {} };
  for await (const bytes of downloadObject(ctx, place, { key, progress })) await ctx.io.out(bytes);
  return { value: null, printed: true };
}
