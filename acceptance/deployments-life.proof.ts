import { beforeAll, expect, test } from 'bun:test';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type NodeApp, newNodeApp, nodeApp, processesOf, runsOf } from './support/apps.ts';
import { openServerDatabase } from './support/database.ts';
import { done, newTenant } from './support/people.ts';
import { type RunningServer, sharedEmbedded } from './support/server.ts';

import { until } from './support/until.ts';

let server: RunningServer;
beforeAll(async () => {
  server = await sharedEmbedded();
});

async function liveApp(): Promise<NodeApp & { deploymentId: string; buildId: string }> {
  const app = await newNodeApp(await newTenant(server), nodeApp('one'));
  await app.copy.push();
  const pushed = await until('the push makes a deployment', async () => (await app.deployments())[0]);
  expect(await app.ended(pushed)).toMatchObject({ state: 'live', trigger: 'push' });
  expect(runsOf(app)).toHaveLength(1);
  const database = openServerDatabase(server);
  const [row] = await database.query(
    `select artifact ->> 'buildId' as build from svc.deployments where id = $1`,
    [pushed.id],
  );
  await database.close();
  return { ...app, deploymentId: pushed.id, buildId: String((row as { build: string }).build) };
}

const move = (app: NodeApp, name: string, by = app.owner) => done(by.call('POST', `${app.base}/${name}`));
const noProcess = (app: NodeApp) =>
  until('no process of it is left', async () => processesOf(app).length === 0, 40_000);
const artefact = ({ buildId }: { buildId: string }) => join(server.dataDir, 'runtime', 'artifacts', buildId);

test('suspend ends the process, resume starts another of the same artefact, archive and delete end it permanently', async () => {
  const app = await liveApp();
  const [before] = runsOf(app);
  await move(app, 'suspend');
  await noProcess(app);
  expect((await app.ask()).status).not.toBe(200);
  expect(existsSync(artefact(app))).toBe(true);

  await move(app, 'resume');
  await app.answers('one', 40_000);
  expect(runsOf(app)).toHaveLength(1);
  expect(runsOf(app)).not.toEqual([before]);

  await until('nothing is released', async () => (await app.deployments()).every(isSettled));
  await move(app, 'archive');
  await noProcess(app);
  await move(app, 'reactivate');
  // A suspended app never starts by itself: it is resumed or deployed again.
  expect(processesOf(app)).toEqual([]);
  expect((await app.deployments()).map(({ state }) => state)).toEqual(['live', 'superseded']);
  await move(app, 'resume');
  await app.answers('one', 40_000);
  await until('nothing is released', async () => (await app.deployments()).every(isSettled));
  await done(app.owner.call('DELETE', app.base));
  await noProcess(app);
});

test('purge leaves no process, no artefact, no folder, no connection and no hook', async () => {
  const app = await liveApp();
  const database = openServerDatabase(server);
  const kept = async () => {
    const [row] = await database.query(
      `select (select count(*)::int from svc.git_connections where app_id = $1) as connections,
         (select count(*)::int from svc.git_host_hooks h join svc.git_host_repos r on r.id = h.repo_id
           where r.name = split_part($2, '/', 2)) as hooks,
         (select count(*)::int from svc.app_instances where app_id = $1) as instances,
         (select count(*)::int from svc.deployments where app_id = $1 and is_kept) as artefacts`,
      [app.id, app.repo],
    );
    return row as Record<string, number>;
  };
  const folders = () =>
    ['artifacts', 'homes', 'work', 'run'].flatMap((name) =>
      readdirSync(join(server.dataDir, 'runtime', name), { recursive: true })
        .map(String)
        .filter((path) => [app.id, app.deploymentId, app.buildId, ...runs].some((id) => path.includes(id))),
    );
  const runs = runsOf(app);
  expect(await kept()).toEqual({ connections: 1, hooks: 1, instances: 1, artefacts: 1 });
  expect(existsSync(artefact(app))).toBe(true);
  expect(folders()).not.toEqual([]);

  await done(app.owner.call('DELETE', app.base));
  await done(app.tenant.admin.call('POST', `${app.base}/purge`));
  await noProcess(app);
  await until(
    'all of it is gone',
    async () => {
      const rows = await kept();
      return folders().length === 0 && Object.values(rows).every((count) => count === 0);
    },
    40_000,
  ).catch(async (error) => {
    throw new Error(`${error.message} Left: ${JSON.stringify([await kept(), folders()])}`);
  });
  // The repository belongs to its people, and stays.
  expect((await app.owner.call('GET', `/git/api/v3/repos/${app.repo}`)).status).toBe(200);
  await database.close();
});

const isSettled = ({ state }: { state: string }) => ['live', 'superseded', 'failed'].includes(state);
