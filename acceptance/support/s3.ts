import { join } from 'node:path';
import { type S3Server, startS3Server } from '../../scripts/s3-server.ts';
import { temporaryFolder } from './server.ts';

export { hasS3Server, needsS3Server } from '../../scripts/s3-server.ts';

export interface S3Storage {
  /** What makes a server keep its objects in a new bucket there. */
  env(): Promise<Record<string, string>>;
  stop(): Promise<void>;
}

/** A real store that speaks S3, with all that it keeps in a folder of the test's own. */
export async function startS3(): Promise<S3Storage> {
  const server = await startS3Server(join(temporaryFolder(), 's3'));
  return { env: () => environment(server), stop: server.stop };
}

async function environment(server: S3Server): Promise<Record<string, string>> {
  const { endpoint, region, accessKeyId, secretAccessKey, createBucket } = server;
  return {
    SVC_OBJECT_STORE: `s3://${await createBucket()}?${new URLSearchParams({ endpoint, region })}`,
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
  };
}
