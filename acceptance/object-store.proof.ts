import { describe, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { patientMs } from '../scripts/patience.ts';
import { admin, svcFor } from './support/commands.ts';
import { newApp, newTenant } from './support/people.ts';
import { hasS3Server, startS3 } from './support/s3.ts';
import { type Files, folderOf, type RunningServer, startServer, temporaryFolder } from './support/server.ts';

/** 2 MiB. Null: this machine lets nobody mount. */
function mountSmallDisk(path: string) {
  mkdirSync(path, { recursive: true });
  const mount = (options: string) => Bun.spawnSync(['mount', '-t', 'tmpfs', '-o', options, 'svc-test', path]);
  if (mount('size=2m,mode=700').exitCode !== 0) return null;
  return {
    grow: () => expect(mount('remount,size=64m').exitCode).toBe(0),
    unmount: () => void Bun.spawnSync(['umount', '-l', path]),
  };
}

const canMount = (() => {
  const disk = mountSmallDisk(join(temporaryFolder(), 'probe'));
  disk?.unmount();
  return disk !== null;
})();

/** Both wait for a minute until `svc` gives up, so they run beside each other. */
describe('a deployment of a site ends with a clear error, and the same command resumes it', () => {
  test.concurrent.if(hasS3Server)('while the bucket is away', async () => {
    const s3 = await startS3();
    const env = await s3.env();
    const server = await startServer({ env });
    const bucket = new URL(env.SVC_OBJECT_STORE ?? '').host;
    const { ok, checks } = await admin<Report>(server, ['doctor']);
    const found = checks.find((check) => check.name === 'object store');
    expect([ok, found?.status, found?.detail]).toEqual([true, 'ok', expect.stringContaining(bucket)]);
    await resumes(server, {
      files: { 'index.html': '<p>one', 'a.css': 'a {}' },
      fault: 'object store is unavailable',
      begin: () => s3.pause(),
      end: () => s3.resume(),
    });
    await s3.stop();
  });

  test.concurrent.if(canMount)('while the disk is full', async () => {
    const dataDir = join(temporaryFolder(), 'data');
    const disk = mountSmallDisk(join(dataDir, 'objects'));
    if (!disk) throw new Error('The disk was not mounted.');
    try {
      await resumes(await startServer({ dataDir }), {
        files: { 'index.html': '<p>one', 'large.txt': randomBytes(3_000_000).toString('hex') },
        fault: 'disk',
        begin: () => {},
        end: () => disk.grow(),
      });
    } finally {
      disk.unmount();
    }
  });
});

interface Outage {
  files: Files;
  /** In the error of the command. */
  fault: string;
  begin(): void;
  end(): void;
}

async function resumes(server: RunningServer, { files, fault, begin, end }: Outage): Promise<void> {
  const tenant = await newTenant(server);
  const app = await newApp(tenant, { owner: tenant.member }, { deploy_method: 'static' });
  const svc = svcFor(server, { token: tenant.member.token, tenant: tenant.slug });
  const folder = folderOf(files);
  const deploy = () =>
    svc(['apps', 'static', 'deploy', '--app', app.id, '--from-dir', folder, '--execute', '--json']);
  begin();
  const startedAt = performance.now();
  const refused = await deploy();
  expect(refused.stderr).toContain(fault);
  expect(refused.stderr).toContain('Run the same command again to resume');
  expect([refused.code, performance.now() - startedAt < patientMs(100_000)]).toEqual([13, true]);
  end();
  const resumed = await deploy();
  expect([resumed.code, resumed.json()]).toMatchObject([0, { number: 1, files: 2 }]);
  expect(await server.stop()).toBe(0);
}

interface Report {
  ok: boolean;
  checks: { name: string; status: string; detail: string }[];
}

test('a server with a misspelt object store does not start, and names the variable', async () => {
  const attempt = startServer({ env: { SVC_OBJECT_STORE: 's3://objects' } });
  expect(await attempt.then(() => 'started', String)).toContain('AWS_ACCESS_KEY_ID is required');
});
