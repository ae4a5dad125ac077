import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { patientMs } from '../scripts/patience.ts';
import { admin, svcFor } from './support/commands.ts';
import { newApp, newTenant } from './support/people.ts';
import { hasS3Server, needsS3Server, type S3Storage, startS3 } from './support/s3.ts';
import { folderOf, startServer } from './support/server.ts';

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

  test('a deployment of a site ends with a clear error while the bucket is away, and resumes afterwards', async () => {
    const server = await startServer({ env: await s3.env() });
    const tenant = await newTenant(server);
    const app = await newApp(tenant, { owner: tenant.member }, { deploy_method: 'static' });
    const svc = svcFor(server, { token: tenant.member.token, tenant: tenant.slug });
    const folder = folderOf({ 'index.html': '<p>one', 'a.css': 'a {}' });
    const deploy = () =>
      svc(['apps', 'static', 'deploy', '--app', app.id, '--from-dir', folder, '--execute', '--json']);
    s3.pause();
    const startedAt = performance.now();
    const refused = await deploy();
    expect(refused.stderr).toContain('object store is unavailable');
    expect(refused.stderr).toContain('Run the same command again to resume');
    expect([refused.code, performance.now() - startedAt < patientMs(100_000)]).toEqual([13, true]);
    s3.resume();
    const resumed = await deploy();
    expect([resumed.code, resumed.json()]).toMatchObject([0, { number: 1, files: 2 }]);
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
