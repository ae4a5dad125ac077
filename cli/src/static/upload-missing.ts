import { ProblemError } from '@svc/contract/client.ts';
import type { Ctx } from '../context.ts';
import { CliError } from '../errors.ts';
import { severalAtOnce } from '../storage/several-at-once.ts';
import { createByteRoom } from './byte-room.ts';
import type { HashedFile } from './hash-site.ts';
import { sendBlob } from './send-blob.ts';
import { startSiteProgress } from './site-progress.ts';

/** Where files of a draft are sent, and which. */
export interface UploadGrant {
  missing: readonly string[];
  upload_url: string;
}

export interface Uploaded {
  files: number;
  bytes: number;
}

export interface UploadJob {
  grant: UploadGrant;
  files: readonly HashedFile[];
  /** A new address, when the one in use has expired. */
  renew(): Promise<UploadGrant>;
  /** Counted as they arrive, so that what was done is known however it ends. */
  uploaded: Uploaded;
}

const blobsAtOnce = 8;
/** Each is held in memory while it is sent. */
const bytesAtOnce = 64 * 1024 * 1024;

/** Sends each sum that is missing once, however many files share it. */
export async function uploadMissing(ctx: Ctx, job: UploadJob): Promise<void> {
  const bySum = new Map(job.files.map((file) => [file.sha256, file]));
  const missing = [...new Set(job.grant.missing)].map((sum) => bySum.get(sum) ?? unknownSum(sum));
  const bytes = missing.reduce((sum, { size }) => sum + size, 0);
  const progress = await startSiteProgress(ctx, { doing: 'Uploading', files: missing.length, bytes });
  const address = renewable(job);
  const room = createByteRoom(bytesAtOnce);
  try {
    await severalAtOnce(
      missing,
      async (file) => {
        if (ctx.signal.aborted) throw ctx.signal.reason;
        await room.hold(file.size, () => address.use((url) => sendBlob(ctx, file, url + file.sha256)));
        job.uploaded.files += 1;
        job.uploaded.bytes += file.size;
        progress.add(file.size);
      },
      blobsAtOnce,
    );
  } finally {
    progress.clear();
  }
}

/** All use the same address; of those who find it expired together, one asks for the next. */
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
        // One that is new and has expired is a fault that asking again would not mend.
        await work(await current);
      }
    },
  };
}

function unknownSum(sum: string): never {
  throw new CliError('not_this_service', `The server asks for ${sum}, which is no file of this release.`, {
    next: 'Check that svc and the server are of the same version.',
  });
}
