import type { Preview } from '@svc/contract/plan.ts';
import { copyObject, signUpload } from '@svc/contract/storage.ts';
import type { Result } from '../command.ts';
import type { Ctx } from '../context.ts';
import { planStale } from '../errors.ts';
import { readable, startByteProgress } from './byte-progress.ts';
import type { CopyStep } from './copy-job.ts';
import { listAllObjects } from './list-all-objects.ts';
import { localSource } from './local-source.ts';
import { saveObject } from './save-object.ts';
import { severalAtOnce } from './several-at-once.ts';
import { folderPrefix } from './sides.ts';
import type { StoragePlace } from './storage-place.ts';
import { uploadInput, uploadObject } from './upload-object.ts';

const shownMax = 200;

export interface FolderCopy {
  steps: readonly CopyStep[];
  /** As typed. */
  target: string;
}

/** What would be written, told from what is there; the server is asked about the first of them. */
export async function previewFolder(
  ctx: Ctx,
  place: StoragePlace,
  { steps, target }: FolderCopy,
): Promise<Preview> {
  const prefix = folderPrefix(target.slice(1));
  const there = new Map((await listAllObjects(ctx, place, prefix)).map(({ key, size }) => [key, size]));
  await askAboutFirst(ctx, place, steps[0]);
  const changes = steps.map(({ to, bytes }) => ({
    path: to,
    before: there.get(to) ?? null,
    after: bytes,
    effect: there.has(to) ? ('update' as const) : ('create' as const),
  }));
  const what = JSON.stringify([place.params, steps, changes]);
  const replaced = changes.filter(({ effect }) => effect === 'update').length;
  return {
    dry_run: true,
    plan: {
      operation: 'storage.cp',
      target: { kind: 'folder', id: target, name: target },
      changes: changes.slice(0, shownMax),
      warnings: [
        ...(changes.length > shownMax ? [`${changes.length - shownMax} more are not shown.`] : []),
        ...(replaced > 0 ? [`${replaced} objects that are there are replaced.`] : []),
      ],
      irreversible: false,
      fingerprint: new Bun.CryptoHasher('sha256').update(what).digest('hex').slice(0, 32),
    },
  };
}

export async function copyFolder(
  ctx: Ctx,
  place: StoragePlace,
  copy: FolderCopy,
  plan?: string,
): Promise<Result> {
  if (plan !== undefined && (await previewFolder(ctx, place, copy)).plan.fingerprint !== plan)
    throw planStale();
  const { steps, target } = copy;
  const bytes = steps.reduce((sum, step) => sum + step.bytes, 0);
  const progress = await startByteProgress(ctx, { doing: 'Copying', bytesTotal: bytes });
  try {
    await severalAtOnce(steps, async (step) => {
      if (ctx.signal.aborted) throw ctx.signal.reason;
      if (step.kind === 'download') {
        await saveObject(ctx, place, { key: step.key, path: step.to, progress });
      } else if (step.kind === 'copy') {
        const input = { params: place.params, body: { from: step.from, to: step.to } };
        await place.client.call(copyObject, input, { signal: ctx.signal });
        progress.add(step.bytes);
      } else {
        const source = await localSource(ctx, step.path);
        await uploadObject(ctx, place, { key: step.to, contentType: step.contentType, source }, { progress });
      }
    });
  } finally {
    progress.clear();
  }
  const value = { target, objects: steps.length, bytes };
  return { value, text: () => `${steps.length} copied to ${target}, ${readable(bytes)}.\n` };
}

async function askAboutFirst(ctx: Ctx, place: StoragePlace, step: CopyStep | undefined): Promise<void> {
  const { client, params } = place;
  const { signal } = ctx;
  if (step?.kind === 'copy')
    await client.preview(copyObject, { params, body: { from: step.from, to: step.to } }, { signal });
  if (step?.kind === 'upload') {
    const source = await localSource(ctx, step.path);
    const input = uploadInput(place, { key: step.to, contentType: step.contentType, source });
    await client.preview(signUpload, input, { signal });
  }
}
