import { severalAtOnce } from '../files/several-at-once.ts';

export interface HashedFile {
  path: string;
  file: File;
  sha256: string;
}

/** Each is in memory while its sum is made. */
const atOnce = 4;

/** The sum of each file, by the browser's own hand. */
export function hashFiles(
  files: readonly { path: string; file: File }[],
  { signal, onHashed }: { signal: AbortSignal; onHashed: (bytes: number) => void },
): Promise<HashedFile[]> {
  return severalAtOnce(files, atOnce, async ({ path, file }) => {
    signal.throwIfAborted();
    const digest = await crypto.subtle.digest('SHA-256', await file.arrayBuffer());
    onHashed(file.size);
    return { path, file, sha256: hex(new Uint8Array(digest)) };
  });
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
