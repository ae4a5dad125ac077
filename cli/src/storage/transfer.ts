import { mkdir, readdir, stat } from 'node:fs/promises';
import { basename, dirname, join, sep } from 'node:path';
import { answerError, UnexpectedAnswerError } from '@svc/contract/client.ts';
import { copyObject, getObjectUrl, signUpload } from '@svc/contract/storage.ts';
import type { Result } from '../command.ts';
import type { Ctx } from '../context.ts';
import { CliError, usageError } from '../framework/errors.ts';
import { fileChunks, fileUnreadableError } from '../inputs/files.ts';
import { carryOut, mutate } from '../mutation.ts';
import { type ByteProgress, formatBytes, startByteProgress } from '../output/progress.ts';
import { writeWholeFile } from '../rows/files.ts';
import { openRequest, request, signedUrlError } from '../session/request.ts';
import { withReadTimeout } from '../session/waiting.ts';
import { type AppStorage, resolveKey } from './storage.ts';

export async function uploadOne(
  ctx: Ctx,
  storage: AppStorage,
  job: Omit<UploadJob, 'source'> & { file: string },
): Promise<Result> {
  const source = await localSource(ctx, job.file);
  const upload = { key: job.key, contentType: job.contentType, source };
  return carryOut(ctx, {
    preview: () => storage.client.preview(signUpload, uploadInput(storage, upload)),
    execute: async (plan) => {
      const progress = await startByteProgress(ctx, { doing: 'Uploading', bytesTotal: source.bytes });
      try {
        const { key, size, content_type, sha256 } = await uploadObject(ctx, storage, upload, {
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
  storage: AppStorage,
  { from, to }: { from: string; to: string },
): Promise<Result> {
  return mutate(ctx, copyObject, { params: storage.params, body: { from, to: resolveKey(to, from) } });
}

export async function downloadOne(
  ctx: Ctx,
  storage: AppStorage,
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
    const bytes = await saveObject(ctx, storage, { key, path, progress });
    return { value: { key, file: path, bytes }, text: () => `${path}, ${formatBytes(bytes)}.\n` };
  } finally {
    progress.clear();
  }
}

export async function printObject(ctx: Ctx, storage: AppStorage, key: string): Promise<Result> {
  const progress = { add: () => {}, clear: () => {} };
  for await (const bytes of downloadObject(ctx, storage, { key, progress })) await ctx.io.out(bytes);
  return { value: null, printed: true };
}

export async function saveObject(
  ctx: Ctx,
  storage: AppStorage,
  { key, path, progress }: { key: string; path: string; progress: ByteProgress },
): Promise<number> {
  await mkdir(dirname(path), { recursive: true }).catch((cause) => {
    throw new CliError('output_failed', `${dirname(path)} cannot be created.`, { cause });
  });
  let bytes = 0;
  async function* pieces() {
    for await (const text of downloadObject(ctx, storage, { key, progress })) {
      bytes += text.byteLength;
      yield { text };
    }
  }
  await writeWholeFile(path, pieces());
  return bytes;
}

export async function* downloadObject(
  ctx: Ctx,
  { client, params }: AppStorage,
  { key, progress }: { key: string; progress: ByteProgress },
): AsyncGenerator<Uint8Array> {
  const { url } = await client.call(getObjectUrl, { params, query: { key } });
  const response = await openRequest(ctx, url, { headers: { accept: '*/*' } });
  if (!response.ok) throw await signedUrlError(response, url);
  const hasher = new Bun.CryptoHasher('sha256');
  const reader = (response.body ?? new Blob([]).stream()).getReader();
  try {
    for (;;) {
      const { done, value } = await withReadTimeout(reader.read()).catch((cause) => {
        throw ctx.signal.aborted ? ctx.signal.reason : truncatedError(key, cause);
      });
      if (done) break;
      hasher.update(value);
      progress.add(value.byteLength);
      yield value;
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
  if (response.headers.get('etag') !== `"${hasher.digest('hex')}"`) throw truncatedError(key);
}

function truncatedError(key: string, cause?: unknown): CliError {
  return new CliError('no_connection', `The download of ${key} is incomplete.`, {
    next: 'Try again.',
    cause,
  });
}

export interface UploadJob {
  key: string;
  contentType: string;
  source: LocalSource;
}

export interface StoredObject {
  key: string;
  size: number;
  content_type: string;
  sha256: string;
}

export function uploadInput({ params }: AppStorage, { key, contentType, source }: UploadJob) {
  return {
    params,
    body: { key, content_type: contentType, ...(source.bytes === null ? {} : { size: source.bytes }) },
  };
}

export async function uploadObject(
  ctx: Ctx,
  storage: AppStorage,
  job: UploadJob,
  { progress, plan }: { progress: ByteProgress; plan?: string | undefined },
): Promise<StoredObject> {
  const { put_url, headers } = await storage.client.call(signUpload, uploadInput(storage, job), {
    ifPlan: plan,
  });
  const hasher = new Bun.CryptoHasher('sha256');
  const chunks = job.source.chunks()[Symbol.asyncIterator]();
  let failed: unknown;
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await chunks.next();
          if (done) return controller.close();
          hasher.update(value);
          progress.add(value.byteLength);
          controller.enqueue(value);
        } catch (cause) {
          failed = cause;
          controller.error(cause);
        }
      },
    },
    { highWaterMark: 0 },
  );
  const init = { method: 'PUT', headers, body, duplex: 'half' } as RequestInit;
  const response = await request(ctx, put_url, init).catch((cause) => {
    // An error of the source is not a network error.
    throw failed ?? cause;
  });
  const shown = `${new URL(put_url).origin}/objects/…`;
  const answer: unknown = await response.json().catch(() => {
    throw new UnexpectedAnswerError(response.status, shown, response.headers.get('x-request-id'));
  });
  if (!response.ok) throw answerError(response, shown, answer);
  const stored = answer as StoredObject;
  if (stored.sha256 === hasher.digest('hex')) return stored;
  throw new CliError('not_this_service', `The stored object ${job.key} differs from the uploaded data.`, {
    next: 'Upload it again.',
  });
}

export interface LocalSource {
  name: string;
  bytes: number | null;
  chunks(): AsyncIterable<Uint8Array>;
}

export async function localSource(ctx: Ctx, name: string): Promise<LocalSource> {
  if (name === '-') return { name, bytes: null, chunks: () => ctx.io.inputChunks() };
  const file = Bun.file(name);
  const entry = await file.stat().catch((cause) => {
    throw fileUnreadableError(name, cause);
  });
  if (entry.isDirectory()) throw usageError(`${name} is a folder.`, 'Add --recursive to copy a folder.');
  return { name, bytes: entry.isFile() ? entry.size : null, chunks: () => fileChunks(file, name) };
}

export interface FolderFile {
  path: string;
  below: string;
  bytes: number;
}

export async function filesBelow(ctx: Pick<Ctx, 'note'>, folder: string): Promise<FolderFile[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch((cause) => {
    throw fileUnreadableError(folder, cause);
  });
  const files: FolderFile[] = [];
  for (const entry of entries) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isSymbolicLink()) ctx.note(`${path} is a link and is skipped.`);
    if (!entry.isFile()) continue;
    const stat = await Bun.file(path).stat();
    const below = path.slice(join(folder, sep).length).replaceAll(sep, '/');
    files.push({ path, below, bytes: stat.size });
  }
  return files.sort((one, other) => (one.below < other.below ? -1 : 1));
}
