import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { partsOf } from './suites/supervised-apps.ts';
import { admin, svcFor } from './support/commands.ts';
import { queryDatabase, setApp } from './support/database.ts';
import { done, newApp, newTenant } from './support/people.ts';
import { hasPostgres15, type Postgres15, startPostgres15 } from './support/postgres15.ts';
import { hasS3Server, type S3Storage, startS3 } from './support/s3.ts';
import { folderOf, isAlive, type RunningServer, root, startServer } from './support/server.ts';
import { until } from './support/until.ts';

/** The promise, however busy the machine is. */
const backMsMax = 30_000;

/** The build records its folder: in a link, as package managers do, and in a script, as Python does. */
const files = {
  'svc.yaml':
    'build:\n  command: ln -s "$PWD/text.txt" link && mkdir bin && printf \'#!/bin/sh\\ncat %s/text.txt\\n\' "$PWD" > bin/say && chmod +x bin/say\nstart: node server.js\n',
  'text.txt': 'as it was built',
  'server.js': `const { readFileSync } = require('node:fs'), { execFileSync } = require('node:child_process');
    require('node:http').createServer((_, response) =>
      response.end(readFileSync('link', 'utf8') + ', ' + execFileSync('bin/say', { encoding: 'utf8' })),
    ).listen(process.env.PORT);`,
};
const expected = 'as it was built, as it was built';

describe.if(hasPostgres15 && hasS3Server)('two servers with data directories of their own', () => {
  let postgres: Postgres15;
  let s3: S3Storage;
  let env: Record<string, string>;
  beforeAll(async () => {
    [postgres, s3] = await Promise.all([startPostgres15(), startS3()]);
    env = { ...(await s3.env()), SVC_DATABASE_URL: postgres.url('postgres'), SVC_SEED: 'none' };
  });
  afterAll(async () => {
    await s3?.stop();
    await postgres?.stop();
  });

  const start = () =>
    startServer({
      env,
      command: [process.execPath, join(root, 'server/src/supervise.ts')],
      readyMs: 200_000,
    });

  test('an app is started by the other one, within 30 s, when its server is killed and its files are gone', async () => {
    const first = await start();
    const tenant = await newTenant(first);
    await done(tenant.admin.call('PATCH', tenant.base, { review_deployments: 'off' }));
    const app = await newApp(tenant, { owner: tenant.member }, { deploy_method: 'docker' });
    await setApp(first, app.id, { visibility: 'internet' });
    const svc = svcFor(first, { token: tenant.member.token, tenant: tenant.slug });
    const deployed = await svc(['deploy', '--app', app.id, '--from-dir', folderOf(files), '--execute']);
    expect([deployed.code, deployed.stderr]).toEqual([0, expect.any(String)]);
    const [built] = await queryDatabase(first, 'select artifact from svc.deployments where app_id = $1', [
      app.id,
    ]);
    expect(built?.artifact).toMatchObject({ builtAt: expect.stringContaining(first.dataDir) });
    const ask = async ({ port }: RunningServer) => {
      const answer = await fetch(`http://127.0.0.1:${port}/`, {
        headers: { host: `${app.subdomain}.apps.localhost:${port}` },
      }).catch(() => null);
      return answer && `${answer.status} ${await answer.text()}`;
    };
    await until('it answers', async () => (await ask(first)) === `200 ${expected}`, 30_000);

    const second = await start();
    await until('it answers there too', async () => (await ask(second)) === `200 ${expected}`, 30_000);
    const { checks } = await admin<Report>(second, ['doctor']);
    const found = checks.find(({ name }) => name === 'other servers');
    expect([found?.status, found?.detail.includes('object stores'), found?.hint]).toEqual([
      'problem',
      false,
      expect.stringContaining('shared volume'),
    ]);
    expect(second.output()).toContain('servers of one database do not share what they must');

    const parts = [first.pid, ...Object.values(partsOf(first))];
    for (const pid of parts) process.kill(pid, 'SIGKILL');
    const killedAt = performance.now();
    await until('they have ended', async () => !parts.some(isAlive), 10_000);
    rmSync(first.dataDir, { recursive: true, force: true });
    await until('the other one answers', async () => (await ask(second)) === `200 ${expected}`, 60_000);
    const ms = Math.round(performance.now() - killedAt);
    console.log(`the app was back ${ms} ms after its server was killed`);
    expect(ms).toBeLessThan(backMsMax);

    const command = await svcFor(second, { token: tenant.member.token, tenant: tenant.slug })([
      'run',
      '--app',
      app.id,
      '--',
      'bin/say',
    ]);
    expect([command.code, command.stdout.trim()]).toEqual([0, 'as it was built']);
    expect(await second.stop()).toBe(0);
  });
});

interface Report {
  checks: { name: string; status: string; detail: string; hint: string }[];
}
