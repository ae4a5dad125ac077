import { requestId } from './fake-problem.ts';
import type { Seen } from './fake-server.ts';

const bytes = 'bytes of an object';
const sumOf = (text: string) => new Bun.CryptoHasher('sha256').update(text).digest('hex');

/** Signed addresses: the address alone lets in. */
export function fakeObjects({ method, headers, body }: Seen): Response {
  if (method !== 'PUT') return new Response(bytes, { headers: { ...requestId, etag: `"${sumOf(bytes)}"` } });
  const content_type = headers.get('content-type');
  const stored = { key: 'a/key', size: body.length, sha256: sumOf(body), content_type };
  return Response.json(stored, { status: 201, headers: requestId });
}

/** An answer in which addresses are asked for leads here. */
export function withObjectUrls(url: string, endpointId: string, answer: unknown): unknown {
  const address = `${url}/objects/a-token/name`;
  if (endpointId === 'storage.getUrl') return { ...(answer as object), url: address };
  if (endpointId === 'storage.list') return { ...(answer as object), next_cursor: null };
  return endpointId === 'storage.signUpload'
    ? { ...(answer as object), put_url: address, headers: { 'content-type': 'text/plain' } }
    : answer;
}
