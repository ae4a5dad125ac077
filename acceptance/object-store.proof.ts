import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { admin } from './support/commands.ts';
import { hasS3Server, needsS3Server, type S3Storage, startS3 } from './support/s3.ts';
import { startServer } from './support/server.ts';

if (needsS3Server) test('a store that speaks S3 is on this machine', () => expect(hasS3Server).toBe(true));

describe.if(hasS3Server)('with its objects in a bucket', () => {
  let s3: S3Storage;
  beforeAll(async () => {
    s3 = await startS3();
  });
  afterAll(() => s3.stop());

  test('the server starts, and the doctor writes to the bucket and reads from it', async () => {
    const env = await s3.env();
    const server = await startServer({ env });
    const bucket = new URL(env.SVC_OBJECT_STORE ?? '').host;
    const { ok, checks } = await admin<Report>(server, ['doctor']);
    const found = checks.find((check) => check.name === 'object store');
    expect([ok, found?.status, found?.detail]).toEqual([true, 'ok', expect.stringContaining(bucket)]);
    expect(await server.stop()).toBe(0);
  });
});

interface Report {
  ok: boolean;
  checks: { name: string; status: string; detail: string }[];
}

test('a server with a misspelt object store does not start, and names the variable', async () => {
  const attempt = startServer({ env: { SVC_OBJECT_STORE: 's3://objects' } });
  expect(await attempt.then(() => 'started', String)).toContain('AWS_ACCESS_KEY_ID is required');
});
