import type { Ctx } from '../context.ts';
import { severalAtOnce } from '../storage/several-at-once.ts';
import { readSiteFile } from './read-site-file.ts';
import { startSiteProgress } from './site-progress.ts';
import type { SiteFile } from './walk-site.ts';

export interface HashedFile extends SiteFile {
  sha256: string;
}

/** Enough to keep a disk busy while the sums are made. */
const filesAtOnce = 16;

/** The sum of each file, in the order they came in. */
export async function hashSite(ctx: Ctx, files: readonly SiteFile[]): Promise<HashedFile[]> {
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  const progress = await startSiteProgress(ctx, { doing: 'Hashing', files: files.length, bytes });
  const sums = new Map<SiteFile, string>();
  try {
    await severalAtOnce(
      files,
      async (file) => {
        if (ctx.signal.aborted) throw ctx.signal.reason;
        const sum = new Bun.CryptoHasher('sha256');
        await readSiteFile(file, (chunk) => {
          sum.update(chunk);
        });
        sums.set(file, sum.digest('hex'));
        progress.add(file.size);
      },
      filesAtOnce,
    );
  } finally {
    progress.clear();
  }
  return files.map((file) => ({ ...file, sha256: sums.get(file) ?? '' }));
}
