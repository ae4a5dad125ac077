import { tarEnd, tarHeaderBlocks, tarPadding } from '@svc/contract/tar.ts';

/** By path within the package. */
export type PackedFiles = Map<string, { bytes: Uint8Array; mode: number }>;

/** An archive as npm makes it: everything is in the folder `package`. */
export function packTarball(files: PackedFiles): Uint8Array<ArrayBuffer> {
  const parts = [...files].flatMap(([name, { bytes, mode }]) => [
    ...tarHeaderBlocks({ name: `package/${name}`, type: '0', size: bytes.byteLength, mode }),
    bytes,
    tarPadding(bytes.byteLength),
  ]);
  return Bun.gzipSync(Buffer.concat([...parts, tarEnd()]));
}
