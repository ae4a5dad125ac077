import { join } from 'node:path';
import { startS3Server } from '../../scripts/s3-server.ts';
import { temporaryFolder } from './server.ts';

export { hasS3Server } from '../../scripts/s3-server.ts';

export async function startS3() {
  const server = await startS3Server(join(temporaryFolder(), 's3'));
  const { endpoint, region, accessKeyId, secretAccessKey } = server;
  return {
    pause: server.pause,
    resume: server.resume,
    stop: server.stop,
    /** The variables of a server that stores its objects in a new bucket. */
    env: async (): Promise<Record<string, string>> => ({
      SVC_OBJECT_STORE: `s3://${await server.createBucket()}?${new URLSearchParams({ endpoint, region })}`,
      AWS_ACCESS_KEY_ID: accessKeyId,
      AWS_SECRET_ACCESS_KEY: secretAccessKey,
    }),
  };
}

export type S3Storage = Awaited<ReturnType<typeof startS3>>;
