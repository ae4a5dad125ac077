import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { run, svcFor } from './support/commands.ts';
import { newApp } from './support/people.ts';
import { type Files, folderOf } from './support/server.ts';
import { newWorld } from './support/world.ts';

const server: Files = {
  'server.js': `import { createClient } from '@svc/sdk';
import { createServer } from 'node:http';
createServer((request, response) => response.end(typeof createClient)).listen(process.env.PORT);`,
};

test('an app whose lockfile names the SDK of a server on this machine is built, with the digest of the lockfile', async () => {
  const world = await newWorld();
  const { server: platform, slug } = world.tenant;
  const svc = svcFor(platform, { token: world.people.O.token, tenant: slug }, 'process');
  const app = await newApp(world.tenant, { owner: world.people.O }, { deploy_method: 'docker' });
  const folder = folderOf({
    ...server,
    // npm tries a wrong digest again, for minutes.
    '.npmrc': 'fetch-retries=0\n',
    'package.json': JSON.stringify({
      name: 'app',
      private: true,
      type: 'module',
      scripts: { start: 'node server.js' },
    }),
  });
  const url = `http://localhost:${platform.port}/sdk.tgz`;
  const npm = ['npm', 'install', url, '--no-audit', '--no-fund', '--no-update-notifier'];
  const installed = await run(npm, { cwd: folder, env: { HOME: folder } });
  expect([installed.code, installed.stderr]).toMatchObject([0, expect.any(String)]);
  const lockfile = readFileSync(join(folder, 'package-lock.json'), 'utf8');
  expect(lockfile).toContain(url);
  const deploy = () => svc(['deploy', '--app', app.id, '--from-dir', folder, '--execute']);
  const deployed = await deploy();
  expect([deployed.code, deployed.stderr]).toEqual([0, expect.stringContaining('comes from this server')]);
  const wrong = lockfile.replace(/sha512-[^"]+/, `sha512-${'A'.repeat(86)}==`);
  await Bun.write(join(folder, 'package-lock.json'), wrong);
  const refused = await deploy();
  expect([refused.code, refused.stderr]).toEqual([9, expect.stringContaining('EINTEGRITY')]);
});
