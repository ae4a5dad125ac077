import { requestId } from './fake-problem.ts';
import type { Seen } from './fake-server.ts';

const sumOf = (bytes: string) => new Bun.CryptoHasher('sha256').update(bytes).digest('hex');

/** Files of a draft: the address alone lets in, and what arrives must have the sum that it ends with. */
export function fakeUploads({ path, body }: Seen): Response {
  return new Response(null, { status: path.endsWith(sumOf(body)) ? 204 : 422, headers: requestId });
}

/** A draft of which every file is missing. */
export function withUploads(url: string, endpointId: string, { body }: Seen, answer: unknown): unknown {
  if (endpointId !== 'releases.create') return answer;
  const { files } = JSON.parse(body) as { files: { sha256: string; size: number }[] };
  const missing = [...new Set(files.map(({ sha256 }) => sha256))];
  return { ...(answer as object), missing, upload_url: `${url}/uploads/a-token/` };
}
