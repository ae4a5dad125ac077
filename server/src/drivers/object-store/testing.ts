import { join } from 'node:path';
import { hasS3Server, type S3Server, startS3Server } from '../../../../scripts/s3-server.ts';
import type { S3Place } from '../../config.ts';
import { temporaryFolder } from '../database/testing.ts';

export { hasS3Server, needsS3Server } from '../../../../scripts/s3-server.ts';

let shared: Promise<S3Server> | undefined;

/** One S3 server for the whole test run, which ends with it. */
export function testS3Server(): Promise<S3Server> {
  shared ??= startS3Server(join(temporaryFolder().path, 's3'));
  return shared;
}

/** A bucket of its own. */
export async function testBucket(): Promise<S3Place> {
  if (!hasS3Server) throw new Error('There is no S3 server here: apt-get install swift-proxy and its parts.');
  const { endpoint, region, accessKeyId, secretAccessKey, createBucket } = await testS3Server();
  return { kind: 's3', bucket: await createBucket(), endpoint, region, accessKeyId, secretAccessKey };
}

export async function* bodyOf(...chunks: readonly (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield typeof chunk === 'string' ? new TextEncoder().encode(chunk) : chunk;
}

/** So many bytes of one letter, in pieces. */
export async function* letters(
  letter: string,
  bytes: number,
  pieceBytes = 64 * 1024,
): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes; at += pieceBytes) {
    yield new Uint8Array(Math.min(pieceBytes, bytes - at)).fill(letter.charCodeAt(0));
  }
}
