import { expect, test } from 'bun:test';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { gitText, newFolder, pushFiles } from '../server/src/drivers/git/testing/git-folder.ts';
import { partsOf, startSupervised } from './suites/supervised-apps.ts';
import { svcFor } from './support/commands.ts';
import { done, newTenant, type Person, type Tenant } from './support/people.ts';
import type { RunningServer } from './support/server.ts';
import { until } from './support/until.ts';

const isRoot = process.getuid?.() === 0;

interface World {
  server: RunningServer;
  tenant: Tenant;
  owner: Person;
}

async function newWorld(server: RunningServer): Promise<World> {
  const tenant = await newTenant(server);
  return { server, tenant, owner: tenant.member };
}

const urlOf = ({ server, tenant, owner }: World, name: string) =>
  `${server.baseUrl.replace('://', `://git:${owner.token}@`)}/git/${tenant.slug}/${name}.git`;

async function newRepo(world: World, name: string): Promise<string> {
  const path = `/git/api/v3/orgs/${world.tenant.slug}/repos`;
  expect((await world.owner.call('POST', path, { name, private: true })).status).toBe(201);
  return urlOf(world, name);
}

/** The owners of all git processes of a server while one waits for its request. */
async function findGitUsers(world: World, name: string): Promise<number[]> {
  const { hostname, port, host, pathname } = new URL(urlOf(world, name));
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  socket.resume();
  socket.write(
    [
      `POST ${pathname}/git-upload-pack HTTP/1.1`,
      `Host: ${host}`,
      `Authorization: Basic ${Buffer.from(`git:${world.owner.token}`).toString('base64')}`,
      'Content-Type: application/x-git-upload-pack-request',
      'Transfer-Encoding: chunked',
      '',
      '2',
      '00',
      '',
    ].join('\r\n'),
  );
  let found: number[] = [];
  let isThere = false;
  const folder = join(world.server.dataDir, 'git');
  await until(
    'git waits for its request',
    async () => {
      const all = listGit(folder);
      found = all.flatMap((pid) => statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid ?? []);
      isThere = all.some((pid) => /^\S*git\0http-backend/.test(readProcess(pid, 'cmdline')));
      return isThere;
    },
    60_000,
  );
  socket.destroy();
  return [...new Set(found)];
}

const readProcess = (pid: string, file: string) => {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
};

/** The sandboxes of a repository below the folder, and what runs in them. */
function listGit(folder: string): string[] {
  const all = readdirSync('/proc').filter((pid) => /^\d+$/.test(pid));
  const parents = new Map(all.map((pid) => [pid, /^PPid:\s*(\d+)/m.exec(readProcess(pid, 'status'))?.[1]]));
  const isSandbox = (pid = ''): boolean => readProcess(pid, 'cmdline').includes(`${folder}/`);
  const isWithin = (pid?: string): boolean =>
    pid !== undefined && (isSandbox(pid) || isWithin(parents.get(pid)));
  return all.filter((pid) => isWithin(pid));
}

function runAs(uid: number, script: string) {
  const drop = [`--reuid=${uid}`, `--regid=${uid}`, '--clear-groups', '--no-new-privs', '--'];
  return spawnSync('setpriv', [...drop, 'sh', '-c', script], { encoding: 'utf8' }).stdout.trim();
}

test.skipIf(!isRoot)(
  'for a server of root, git has a user of its own, with the repositories alone',
  async () => {
    const world = await newWorld(await startSupervised());
    const { dataDir } = world.server;
    const url = await newRepo(world, 'own');
    await pushFiles(url, { 'index.html': 'one' });
    const users = await findGitUsers(world, 'own');
    const server = statSync(`/proc/${partsOf(world.server).server}`).uid;
    expect(users).toHaveLength(1);
    expect([0, server]).not.toContain(users[0]);
    const git = users[0]!;
    expect(statSync(join(dataDir, 'git')).uid).toBe(git);
    // The server, too: another user of the machine has neither.
    for (const [uid, expected] of [
      [git, 'yes'],
      [65_534, ''],
    ] as const)
      expect(runAs(uid, `ls ${dataDir}/git/*.git/HEAD >/dev/null 2>&1 && echo yes`)).toBe(expected);
    const others = readdirSync(dataDir).filter((name) => !['git', 'git-work'].includes(name));
    expect(others).toContain('objects');
    const opened = others.filter(
      (name) =>
        runAs(git, `cd ${dataDir} && cat $(find ${name} -type f 2>/dev/null) /dev/null | head -c 9`) !== '',
    );
    expect(opened).toEqual([]);
    const written = others.filter(
      (name) => runAs(git, `cd ${dataDir}; touch ${name}/x 2>/dev/null && echo ${name}`) !== '',
    );
    expect(written).toEqual([]);
    await world.server.stop();
  },
);

test.skipIf(!isRoot)(
  'a push deploys, and a deletion takes its folder, with git as a user of its own',
  async () => {
    const server = await startSupervised();
    const world = await newWorld(server);
    const { tenant, owner } = world;
    const app = await done(
      owner.call('POST', `${tenant.base}/apps`, { name: 'Pushed', deploy_method: 'static' }),
    );
    const svc = svcFor(server, { token: owner.token, tenant: tenant.slug });
    const connect = [
      'apps',
      'git',
      'connect',
      '--app',
      app.slug,
      '--repo',
      `${tenant.slug}/pushed`,
      '--create',
    ];
    expect(await svc([...connect, '--execute'])).toMatchObject({ code: 0 });
    await pushFiles(urlOf(world, 'pushed'), { 'index.html': '<h1>pushed</h1>' });
    await until(
      'the push is live',
      async () => (await svc(['deployments', 'list', '--app', app.slug])).stdout.includes('live'),
      60_000,
    );
    const path = `/git/api/v3/repos/${tenant.slug}/pushed`;
    expect((await owner.call('GET', `${path}/commits/main`)).status).toBe(200);
    const folders = () => readdirSync(join(server.dataDir, 'git')).filter((name) => name.endsWith('.git'));
    expect(folders()).toHaveLength(1);
    // As a push leaves it that is killed.
    const incoming = join(server.dataDir, 'git', folders()[0]!, 'objects', 'tmp_objdir-incoming-x');
    const { uid } = statSync(join(server.dataDir, 'git'));
    runAs(uid, `mkdir -m 700 ${incoming} && touch ${incoming}/pack`);
    expect(statSync(incoming)).toMatchObject({ uid, mode: 0o42700 });
    expect((await owner.call('DELETE', path)).status).toBe(204);
    await until('the folder is gone', async () => folders().length === 0, 60_000);
    expect(readdirSync(join(server.dataDir, 'git-work')).filter((it) => it.startsWith('git-'))).toEqual([]);
    await server.stop();
  },
);

test.skipIf(!isRoot)(
  'repositories that belong to the user of the server get their own at the start',
  async () => {
    const first = await startSupervised();
    const before = await newWorld(first);
    const url = await newRepo(before, 'older');
    await pushFiles(url, { 'index.html': 'one' });
    const uid = statSync(`/proc/${partsOf(first).server}`).uid;
    await first.stop();
    // As servers before left it.
    spawnSync('chown', ['-R', `${uid}:${uid}`, join(first.dataDir, 'git')]);
    spawnSync('chmod', ['-R', 'u=rwX,go=', join(first.dataDir, 'git')]);
    const server = await startSupervised({}, { dataDir: first.dataDir, port: first.port });
    const [git] = await findGitUsers({ ...before, server }, 'older');
    expect([0, uid]).not.toContain(git);
    const copy = newFolder();
    await gitText(copy.path, ['clone', '--quiet', url, 'all']);
    await gitText(join(copy.path, 'all'), ['checkout', '--quiet', '-b', 'next']);
    await gitText(join(copy.path, 'all'), ['push', '--quiet', 'origin', 'next']);
    await copy.remove();
    await server.stop();
  },
);
