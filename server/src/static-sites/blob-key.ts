export type BlobEncoding = 'identity' | 'gzip' | 'br';

const suffixes = { identity: '', gzip: '.gz', br: '.br' } as const;

export const blobPrefix = ({ tenantId, appId }: { tenantId: string; appId: string }) =>
  `static/${tenantId}/${appId}/`;

/** Where the bytes of a file are, as they are or compressed: made of ids alone, whatever the file is called. */
export function blobKey(
  place: { tenantId: string; appId: string },
  blobId: string,
  encoding: BlobEncoding = 'identity',
): string {
  return `${blobPrefix(place)}${blobId}${suffixes[encoding]}`;
}
