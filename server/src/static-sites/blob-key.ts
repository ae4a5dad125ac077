export type BlobEncoding = 'identity' | 'gzip' | 'br';

const suffixes = { identity: '', gzip: '.gz', br: '.br' } as const;

/** Of all sites. */
export const blobsPrefix = 'static/';
export const blobPrefix = ({ tenantId, appId }: { tenantId: string; appId: string }) =>
  `${blobsPrefix}${tenantId}/${appId}/`;

/** Where the bytes of a file are, as they are or compressed: made of ids alone, whatever the file is called. */
export function blobKey(
  place: { tenantId: string; appId: string },
  blobId: string,
  encoding: BlobEncoding = 'identity',
): string {
  return `${blobPrefix(place)}${blobId}${suffixes[encoding]}`;
}

/** Of all forms that are there. */
export function keysOfBlob(
  place: { tenantId: string; appId: string },
  blob: { blob_id: string; gzip_size: number | null; brotli_size: number | null },
): string[] {
  return [
    blobKey(place, blob.blob_id),
    ...(blob.gzip_size === null ? [] : [blobKey(place, blob.blob_id, 'gzip')]),
    ...(blob.brotli_size === null ? [] : [blobKey(place, blob.blob_id, 'br')]),
  ];
}
