import { ProblemError } from '@svc/contract/client.ts';
import { grantUpload } from '@svc/contract/static-sites.ts';
import { client } from '../../../api/client.ts';
import { putFilePatiently } from '../files/put-file.ts';
import { severalAtOnce } from '../files/several-at-once.ts';
import type { HashedFile } from './hash-files.ts';

export interface UploadJob {
  params: { tenantID: string; app: string; release: string };
  draft: { missing: readonly string[]; upload_url: string };
  files: readonly HashedFile[];
  signal: AbortSignal;
  /** Bytes that have arrived or are on their way, of all together. */
  onProgress: (bytes: number) => void;
}

const atOnce = 4;

/** Sends each content that the server does not have, once, however many files share it. */
export async function uploadMissing({ params, draft, files, signal, onProgress }: UploadJob): Promise<void> {
  const bySum = new Map(files.map((file) => [file.sha256, file]));
  const sent = new Map<string, number>();
  const report = (sum: string, bytes: number) => {
    sent.set(sum, bytes);
    onProgress([...sent.values()].reduce((total, each) => total + each, 0));
  };
  let address = Promise.resolve(draft.upload_url);

  async function send(sum: string): Promise<void> {
    const file = bySum.get(sum)?.file;
    if (!file) throw new Error('The server asks for a file that is not of this release.');
    const options = { signal, onProgress: (bytes: number) => report(sum, bytes) };
    const used = address;
    try {
      await putFilePatiently((await used) + sum, file, options);
    } catch (error) {
      if (!(error instanceof ProblemError) || error.problem.code !== 'url_expired') throw error;
      // Part of what was confirmed: the same right to the same draft, for another while. One of all asks for it.
      if (address === used)
        address = client.call(grantUpload, { params }, { signal }).then(({ upload_url }) => upload_url);
      await putFilePatiently((await address) + sum, file, options);
    }
    report(sum, file.size);
  }

  await severalAtOnce([...new Set(draft.missing)], atOnce, send);
}
