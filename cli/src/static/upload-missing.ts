import { ProblemError, UnexpectedAnswerError } from '@svc/contract/client.ts';
import { mapConcurrently } from '@svc/contract/concurrency.ts';
import type { Ctx } from '../context.ts';
import { CliError } from '../framework/errors.ts';
import { startSiteProgress } from '../output/progress.ts';
import { request, signedUrlError } from '../session/request.ts';
import { pause, withTimeout } from '../session/waiting.ts';
import type { HashedFile } from './gather-release.ts';
import { fileChangedError, readSiteFile } from './site-files.ts';

interface UploadGrant {
  missing: readonly string[];
  upload_url: string;
}

export interface Uploaded {
  files: number;
  bytes: number;
}

interface UploadJob {
  grant: UploadGrant;
  files: readonly HashedFile[];
  renew(): Promise<UploadGrant>;
  uploaded: Uploaded;
}

const blobsAtOnce = 8;
/** Blobs are in memory while they are uploaded. */
const bytesAtOnce = 64 * 1024 * 1024;

export async function uploadMissing(ctx: Ctx, job: UploadJob): Promise<void> {
  const byDigest = new Map(job.files.map((file) => [file.sha256, file]));
  const missing = [...new Set(job.grant.missing)].map(
    (digest) => byDigest.get(digest) ?? throwUnknownDigest(digest),
  );
  const bytes = missing.reduce((sum, { size }) => sum + size, 0);
  const progress = await startSiteProgress(ctx, { doing: 'Uploading', files: missing.length, bytes });
  const uploadUrl = renewable(job);
  const limiter = createByteLimiter(bytesAtOnce);
  let storedAt = performance.now();
  const isStuck = () => performance.now() - storedAt > busyMsMax;
  try {
    await mapConcurrently(missing, blobsAtOnce, async (file) => {
      if (ctx.signal.aborted) throw ctx.signal.reason;
      await limiter.reserve(file.size, () =>
        uploadUrl.use((url) => uploadBlob(ctx, file, url + file.sha256, isStuck)),
      );
      storedAt = performance.now();
      job.uploaded.files += 1;
      job.uploaded.bytes += file.size;
      progress.add(file.size);
    });
  } finally {
    progress.clear();
  }
}

function renewable({ grant, renew }: UploadJob) {
  let current = Promise.resolve(grant.upload_url);
  return {
    use: async (work: (url: string) => Promise<void>): Promise<void> => {
      const used = current;
      try {
        await work(await used);
      } catch (cause) {
        if (!(cause instanceof ProblemError) || cause.problem.code !== 'url_expired') throw cause;
        if (current === used) current = renew().then(({ upload_url }) => upload_url);
        // No second renewal: a new URL that has expired is an error.
        await work(await current);
      }
    },
  };
}

function throwUnknownDigest(digest: string): never {
  throw new CliError(
    'not_this_service',
    `The server requests ${digest}, which is not a file of this release.`,
    {
      next: 'Check that svc and the server have the same version.',
    },
  );
}

const requestMsMax = 10 * 60_000;
const retriesMax = 6;
/** How long a busy server may store nothing before the upload ends. */
const busyMsMax = 60_000;
const backoffMsMax = 8_000;
const retryAfterSecondsMax = 60;

/** Retries after network errors; the server stores the same bytes once. */
async function uploadBlob(ctx: Ctx, file: HashedFile, url: string, isStuck: () => boolean): Promise<void> {
  const body = await readBlob(file);
  let [tries, spent] = [0, 0];
  for (;;) {
    try {
      return await put(withTimeout(ctx, requestMsMax), url, body);
    } catch (cause) {
      if (ctx.signal.aborted) throw ctx.signal.reason;
      // A busy server does not count as a failed attempt while it stores other files.
      if (!isBusy(cause)) spent += 1;
      if (isStuck() || spent > retriesMax || !isTransientUpload(cause)) throw cause;
      await pause(ctx, retryDelayMs(cause, tries++));
    }
  }
}

async function readBlob(file: HashedFile): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(file.size);
  let at = 0;
  await readSiteFile(file, (chunk) => {
    // readSiteFile rejects a file that has grown.
    if (at + chunk.length <= bytes.length) bytes.set(chunk, at);
    at += chunk.length;
  });
  if (new Bun.CryptoHasher('sha256').update(bytes).digest('hex') !== file.sha256)
    throw fileChangedError(file);
  return bytes;
}

/** Sent without a login: the URL is the secret. */
async function put(ctx: Ctx, url: string, body: Uint8Array<ArrayBuffer>): Promise<void> {
  const headers = { 'content-type': 'application/octet-stream' };
  const response = await request(ctx, url, { method: 'PUT', headers, body });
  if (!response.ok) throw await signedUrlError(response, url);
}

function isBusy(cause: unknown): boolean {
  return cause instanceof ProblemError && [429, 503].includes(cause.problem.status);
}

function isTransientUpload(cause: unknown): boolean {
  if (cause instanceof ProblemError) return [408, 429, 503].includes(cause.problem.status);
  if (cause instanceof UnexpectedAnswerError) return cause.status >= 502;
  return cause instanceof CliError && (cause.code === 'no_connection' || cause.code === 'timeout');
}

function retryDelayMs(cause: unknown, tries: number): number {
  const requestedSeconds = cause instanceof ProblemError ? cause.retryAfterSeconds : null;
  return requestedSeconds === null
    ? Math.min(backoffMsMax, 250 * 2 ** tries)
    : Math.min(retryAfterSecondsMax, requestedSeconds) * 1000;
}

export function createByteLimiter(bytesMax: number) {
  let reserved = 0;
  const waiting: { bytes: number; begin: () => void }[] = [];
  const admit = () => {
    // Work above the limit runs alone.
    for (
      let [first] = waiting;
      first && (reserved === 0 || reserved + first.bytes <= bytesMax);
      [first] = waiting
    ) {
      waiting.shift();
      reserved += first.bytes;
      first.begin();
    }
  };
  return {
    reserve: async <T>(bytes: number, work: () => Promise<T>): Promise<T> => {
      await new Promise<void>((begin) => {
        waiting.push({ bytes, begin });
        admit();
      });
      try {
        return await work();
      } finally {
        reserved -= bytes;
        admit();
      }
    },
  };
}
