import { join } from 'node:path';
import { hasS3Server, type S3Server, startS3Server } from '../../../../scripts/s3-server.ts';
import { temporaryFolder } from '../database/testing.ts';
import type { S3Config } from './s3-client.ts';

export { hasS3Server } from '../../../../scripts/s3-server.ts';

let shared: Promise<S3Server> | undefined;

export async function testBucket(): Promise<S3Config> {
  if (!hasS3Server)
    throw new Error('No S3 server is installed: apt-get install swift-proxy and its dependencies.');
  shared ??= startS3Server(join(temporaryFolder().path, 's3'));
  const { endpoint, region, accessKeyId, secretAccessKey, createBucket } = await shared;
  return { kind: 's3', bucket: await createBucket(), endpoint, region, accessKeyId, secretAccessKey };
}

export async function* bodyFrom(...chunks: readonly (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield typeof chunk === 'string' ? new TextEncoder().encode(chunk) : chunk;
}

const pieceBytes = 64 * 1024;

export async function* repeatLetter(letter: string, bytes: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes; at += pieceBytes)
    yield new Uint8Array(Math.min(pieceBytes, bytes - at)).fill(letter.charCodeAt(0));
}
