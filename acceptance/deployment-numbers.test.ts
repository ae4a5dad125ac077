import { beforeAll, expect, test } from 'bun:test';
import { nodeApp } from './support/apps.ts';
import { type Svc, svcFor } from './support/commands.ts';
import { newApp, newTenant, type Tenant } from './support/people.ts';
import { type Files, folderOf, sharedServer } from './support/server.ts';

let tenant: Tenant;
let svc: Svc;
beforeAll(async () => {
  const server = await sharedServer();
  tenant = await newTenant(server);
  svc = svcFor(server, { token: tenant.member.token, tenant: tenant.slug });
});

test('deployments are named by their number, and a project without a start command learns what to add', async () => {
  const app = await newApp(tenant, { owner: tenant.member }, { deploy_method: 'docker' });
  const of = ['--app', app.slug];
  const deploy = (files: Files) => svc(['deploy', ...of, '--from-dir', folderOf(files), '--execute']);
  const never = await svc(['deployments', 'get', 'latest', ...of]);
  expect([never.code, never.stderr]).toEqual([5, expect.stringContaining('has never been deployed')]);

  const none = await deploy({ 'svc.yaml': 'tables: { pets: { columns: ["name:text"] } }\n', 'a.txt': '' });
  expect(none.code).toBe(9);
  expect(none.stderr).toContain('No start command was found. Add one: a script “start” in package.json');
  expect(none.stderr).not.toContain('SVC_RUNTIME');

  expect((await deploy(nodeApp('one'))).code).toBe(0);
  for (const ref of ['2', '#2', 'latest']) {
    const got = await svc(['deployments', 'get', ref, ...of, '--json']);
    expect([ref, got.json<{ seq: number; state: string }>()]).toMatchObject([ref, { seq: 2, state: 'live' }]);
  }
  expect((await svc(['deployments', 'wait', '2', ...of])).code).toBe(0);
  expect((await svc(['deployments', 'logs', '1', ...of])).stdout).toContain('No start command was found');
  const rollback = await svc(['deployments', 'rollback', '2', ...of]);
  expect([rollback.code, rollback.stderr]).toEqual([6, expect.stringContaining('live')]);
  const canceled = await svc(['deployments', 'cancel', '2', ...of, '--execute']);
  expect([canceled.code, canceled.stderr]).toEqual([6, expect.stringContaining('not_cancelable')]);
  const unknown = await svc(['deployments', 'rollback', '9', ...of, '--execute']);
  expect([unknown.code, unknown.stderr]).toEqual([5, expect.stringContaining('has no deployment #9')]);

  const set = await svc(['env', 'set', 'COLOR=red', ...of, '--execute']);
  expect([set.code, set.stderr]).toEqual([
    0,
    expect.stringContaining(`svc apps restart ${app.slug} --execute`),
  ]);
});

test('a Dockerfile or a compose file without an engine is refused with the reason and what helps', async () => {
  const deploy = async (method: 'docker' | 'compose', files: Files) => {
    const app = await newApp(tenant, { owner: tenant.member }, { deploy_method: method });
    const ran = await svc(['deploy', '--app', app.slug, '--from-dir', folderOf(files), '--execute']);
    return [ran.code, ran.stderr.replaceAll(/^(?!Error: |Next: ).*\n/gm, '')];
  };
  expect(await deploy('docker', { Dockerfile: 'FROM scratch\n' })).toEqual([
    9,
    expect.stringMatching(
      /cannot build images from a Dockerfile\. Add a start command to svc\.yaml.*\nNext: Add a start command to svc\.yaml, such as start: /,
    ),
  ]);
  expect(await deploy('compose', { 'compose.yaml': 'services: { web: { image: x } }\n' })).toEqual([
    6,
    expect.stringMatching(
      /cannot run a compose app\. Set SVC_RUNTIME=docker\..*\nNext: Create an app without --deploy-method compose, add a start command /,
    ),
  ]);
});
