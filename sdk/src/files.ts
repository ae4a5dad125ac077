import type { FileValue } from '@svc/contract/rows.ts';
import { SvcNetworkError } from './errors.ts';
import type { CallOptions, TableTarget } from './query.ts';
import { readJson } from './read-json.ts';
import { limitTime, uploadMsMax } from './time-limits.ts';

export type { FileValue } from '@svc/contract/rows.ts';

export interface UploadOptions extends CallOptions {
  /** The name of a `File` by default. */
  name?: string;
  /** The type of the blob by default. */
  type?: string;
}

interface SignedUpload {
  file: FileValue;
  put_url: string;
  headers: Record<string, string>;
}

/** The value for the column. */
export async function uploadFile(
  { transport, path }: TableTarget,
  column: string,
  blob: Blob,
  { name, type, signal }: UploadOptions,
): Promise<FileValue> {
  const ownName = 'name' in blob && typeof blob.name === 'string' ? blob.name : '';
  const body = JSON.stringify({
    column,
    name: name ?? (ownName || 'file'),
    type: type ?? (blob.type || 'application/octet-stream'),
    size: blob.size,
  });
  const headers = { 'content-type': 'application/json' };
  const signed = await transport.exchange(
    { method: 'POST', path: `${path}/_files`, headers, body, onFault: 'repeat', signal },
    readJson<SignedUpload>,
  );
  // The URL is the credential: no other is sent with it.
  const put = await fetch(signed.put_url, {
    method: 'PUT',
    headers: signed.headers,
    body: blob,
    credentials: 'omit',
    signal: limitTime(uploadMsMax, signal),
  }).catch((cause: unknown) => {
    signal?.throwIfAborted();
    throw new SvcNetworkError('The upload got no answer.', { cause });
  });
  if (!put.ok) throw new SvcNetworkError(`The upload answered ${put.status}.`);
  return signed.file;
}
