import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { runProgram } from '../../os/processes.ts';
import type { SampleName } from '../conformance-testing.ts';
import { BuildError } from '../runtime.ts';
import { type Bench, openBench, type SampleApp } from '../testing.ts';
import { chooseAppUsers } from './app-users.ts';
import type { ProcessRuntime } from './process-runtime.ts';
import { type ProcessWorld, processWorld } from './testing.ts';
import { measureFolders } from './trees.ts';

const isRoot = process.getuid?.() === 0;
let world: ProcessWorld;
let bench: Bench;
beforeAll(async () => {
  world = processWorld({ times: { buildMsMax: 3_000, restartMsMin: 100 } });
  bench = openBench(world, await world.open());
});
afterAll(async () => {
  await bench.runtime.close();
  await world.close();
});

function site(buildCommand: string, env: Record<string, string> = {}, name: SampleName = 'site'): SampleApp {
  const app = bench.app(name, env);
  app.sample.plan.buildCommand = buildCommand;
  return app;
}
const failureOf = (app: SampleApp) =>
  app.build().then(
    () => 'built',
    (error: unknown) => (error instanceof BuildError ? error.message : Promise.reject(error)),
  );

async function changesPrivateCopy({ dataDir }: ProcessWorld, { app: newApp, until }: Bench): Promise<void> {
  const app = newApp('web');
  app.sample.plan.startCommand =
    '(touch new && echo more >> app.js && echo copied; echo y > ~/a && echo z > $TMPDIR/b && echo wrote); node app.js';
  app.sample.files['app.js'] = `const more = 1; ${app.sample.files['app.js']}\n`;
  const built = await app.build();
  const artifact = join(dataDir, 'runtime', 'artifacts', String(built.artifact.buildId));
  const before = readFileSync(join(artifact, 'app.js'), 'utf8');
  const instance = await app.start(built);
  await until(() => app.lines('stdout').includes('wrote'));
  expect(app.lines('stdout')).toContain('copied');
  const command = 'touch new && echo more >> app.js && cat app.js';
  expect(await app.command(built, command)).toMatchObject({ exitCode: 0 });
  expect(app.lines('stdout').filter((line) => line === 'more')).toHaveLength(1);
  const now = [existsSync(join(artifact, 'new')), readFileSync(join(artifact, 'app.js'), 'utf8')];
  expect(now).toEqual([false, before]);
  await instance.stop();
  expect(readdirSync(join(dataDir, 'runtime', 'run'))).toEqual([]);
}

describe.if(isRoot)('as root, an app', () => {
  test('builds and runs as its own user without groups and capabilities', async () => {
    const report = 'id -G > out/ids; grep -E "NoNewPrivs|Cap(Eff|Bnd)" /proc/self/status >> out/ids';
    const { filesDir } = await site(`mkdir out; ${report}`).build();
    const file = join(filesDir ?? '', 'ids');
    const [groups, ...rights] = (await Bun.file(file).text()).split('\n');
    const none = '0'.repeat(16);
    expect([groups, rights.slice(0, 3)]).toEqual([
      '1000',
      [`CapEff:\t${none}`, `CapBnd:\t${none}`, 'NoNewPrivs:\t1'],
    ]);
    expect(statSync(file).uid).toBeGreaterThan(700_000);
    const other = await site('mkdir out; touch out/ids').build();
    expect(statSync(join(other.filesDir ?? '', 'ids')).uid).not.toBe(statSync(file).uid);
  });

  test("cannot read the platform's keys or files of other apps", async () => {
    mkdirSync(join(world.dataDir, 'keys'), { mode: 0o700 });
    writeFileSync(join(world.dataDir, 'keys', 'key'), 'secret', { mode: 0o644 });
    writeFileSync(join(world.dataDir, 'key.json'), 'secret', { mode: 0o600 });
    const victim = bench.app('web', { OF_THE_VICTIM: 'hidden' });
    victim.sample.files['private.txt'] = 'secret';
    const built = await victim.build();
    const instance = await victim.start(built);
    await bench.answer(instance.address, '/env');
    const source = bench.app('web');
    mkdirSync(source.sourceDir, { mode: 0o700 });
    writeFileSync(join(source.sourceDir, 'private.txt'), 'secret');
    const runtime = join(world.dataDir, 'runtime');
    const paths = [
      join(world.dataDir, 'keys', 'key'),
      join(world.dataDir, 'key.json'),
      join(runtime, 'artifacts', String(built.artifact.buildId), 'private.txt'),
      join(runtime, 'artifacts', `${built.artifact.buildId}.json`),
      join(runtime, 'run', instance.id, 'pid'),
      join(source.sourceDir, 'private.txt'),
    ];
    const folders = [
      world.dataDir,
      runtime,
      ...['work', 'artifacts', 'run', 'homes', `homes/${victim.appId}`, 'nodes'].map((it) =>
        join(runtime, it),
      ),
    ];
    const homes = ['home', 'tmp'].map((name) => join(runtime, 'run', instance.id, name));
    const tries = [
      ...paths.map((path) => `cat ${path} && echo read ${path}`),
      ...[...folders, ...homes].map((path) => `ls ${path} && echo listed ${path}`),
      'cat /proc/[0-9]*/environ 2>/dev/null | grep -a OF_THE_VICTIM=hidden',
    ];
    for (const path of paths) statSync(path);
    const app = site(`mkdir out; (${tries.join('\n')}) > out/seen 2>/dev/null; exit 0`);
    const { filesDir } = await app.build();
    const seen = (await Bun.file(join(filesDir ?? '', 'seen')).text()).split('\n').filter(Boolean);
    // Of the folders above, it sees the path to its own.
    const ownPath = ['runtime', 'work', 'homes', app.deploymentId, app.appId];
    expect(seen.filter((line) => !line.startsWith('listed ') && !ownPath.includes(line))).toEqual([]);
    await instance.stop();
  });

  test('changes a private copy of its artifact, and its home and temporary folder', async () => {
    await changesPrivateCopy(world, bench);
  });

  test('changes a private copy without a sandbox, too, and below a closed folder where an overlay is impossible', async () => {
    const open = processWorld({ isolation: { use: 'none', egress: 'public', gatewayPort: null } });
    const unprotected = openBench(open, await open.open());
    await changesPrivateCopy(open, unprotected);
    await unprotected.runtime.close();
    await open.close();

    const closed = processWorld();
    chmodSync(dirname(closed.dataDir), 0o700);
    // The changes of an overlay cannot be in another one.
    const [lower, upper, work] = ['lower', 'upper', 'work'].map((name) => `${closed.dataDir}-${name}`);
    for (const folder of [lower, upper, work]) mkdirSync(folder!);
    const options = `lowerdir=${lower},upperdir=${upper},workdir=${work}`;
    const mounted = await runProgram('mount', ['-t', 'overlay', 'svc', '-o', options, closed.dataDir], {});
    expect(mounted.status, mounted.output).toBe(0);
    try {
      chmodSync(closed.dataDir, 0o711);
      const own = openBench(closed, await closed.open());
      await changesPrivateCopy(closed, own);
      await own.runtime.close();
    } finally {
      await runProgram('umount', [closed.dataDir], {});
      await closed.close();
    }
  });

  test('cannot influence root by variables or by a folder replaced with a link', async () => {
    const app = bench.app('site', { LD_PRELOAD: '/nowhere/its.so', ENV: '/nowhere', IFS: 'x' });
    await app.build();
    // Each program says so that it could not load it: those of the app do, the ones before it do not.
    expect(
      app.lines('stderr').filter((line) => line.includes('nowhere') && line.includes('setpriv')),
    ).toEqual([]);
    mkdirSync(join(world.dataDir, 'closed', 'open'), { recursive: true });
    chmodSync(join(world.dataDir, 'closed'), 0o700);
    const swapped = bench.app('site');
    swapped.sample.files['sub/readme.txt'] = 'x';
    swapped.sample.plan.dir = 'sub';
    swapped.sample.plan.installCommand = `cd .. && rm -r sub && ln -s ${join(world.dataDir, 'closed', 'open')} sub`;
    swapped.sample.plan.buildCommand = 'echo arrived';
    expect(await failureOf(swapped)).toContain('exit code 126');
    expect(swapped.lines('stdout')).not.toContain('arrived');
  });

  test('without a sandbox is not running if another program listens on its port', async () => {
    const open = processWorld({ isolation: { use: 'none', egress: 'public', gatewayPort: null } });
    const unprotected = openBench(open, await open.open());
    const app = unprotected.app('chatty');
    const instance = await app.start(await app.build());
    expect(await instance.getState()).toMatchObject({ state: 'running', restarts: 0 });
    const [hostname = '', port] = instance.address.split(':');
    const other = Bun.serve({ hostname, port: Number(port), fetch: () => new Response('not the app') });
    expect(await instance.getState()).toMatchObject({
      state: 'failed',
      detail: expect.stringContaining(`${port}`),
    });
    await other.stop(true);
    expect(await instance.getState()).toMatchObject({ state: 'running', restarts: 0 });
    await unprotected.runtime.close();
    await open.close();
  });

  test('builds, runs and executes commands with the data dir below a folder that only root can enter', async () => {
    const closed = processWorld();
    chmodSync(dirname(closed.dataDir), 0o700);
    const own = openBench(closed, await closed.open());
    const app = own.app('web');
    app.sample.plan.buildCommand = 'echo built > built.txt';
    const built = await app.build();
    const instance = await app.start(built);
    expect(await own.answer(instance.address, '/env')).toContain('PORT=');
    expect(await app.command(built, 'cat built.txt')).toMatchObject({ exitCode: 0 });
    expect(app.lines('stdout')).toEqual(['built']);
    await instance.stop();

    const runtime = own.runtime as ProcessRuntime;
    const server = { uid: 64_322, gid: 64_322 };
    chownSync(closed.workDir, server.uid, server.gid);
    const file = { path: join(closed.workDir, 'packed'), openedBy: server };
    await runtime.packBuild(built.artifact, file);
    expect(statSync(file.path).uid).toBe(server.uid);
    await runtime.discard(built.artifact);
    await runtime.unpackBuild(built.artifact, { ...file, number: app.number, digest: built.digest });
    expect(await app.command(built, 'cat built.txt')).toMatchObject({ exitCode: 0 });
    await own.runtime.close();
    await closed.close();
  });

  test('is refused if its user cannot access its files, or setpriv is missing', () => {
    const closed = join(world.dataDir, 'closed-too');
    mkdirSync(join(closed, 'run'), { recursive: true });
    chmodSync(closed, 0o700);
    const obstacle = (folder: string, setprivPaths?: string[]) =>
      chooseAppUsers({ folder, isRoot: true, setprivPaths }).findProblem();
    expect(obstacle(join(closed, 'run'))).toContain(closed);
    expect(obstacle(world.dataDir, ['/nowhere/setpriv'])).toContain('util-linux');
    expect(obstacle(world.dataDir)).toBeNull();
  });
});

test('too many files are too much, however small they are', async () => {
  const folder = join(world.dataDir, 'many');
  mkdirSync(join(folder, 'empty'), { recursive: true });
  for (let at = 0; at < 99; at++) writeFileSync(join(folder, 'empty', String(at)), '');
  expect(await measureFolders([folder], 1, 100)).toEqual({ bytes: expect.any(Number) });
  writeFileSync(join(folder, 'one-more'), '');
  expect(await measureFolders([folder], 1, 100)).toMatchObject({ problem: 'has more than 100 files' });
});

describe('a build', () => {
  test('that takes too long is killed', async () => {
    expect(await failureOf(site('sleep 1000'))).toBe('The build took longer than 3 seconds.');
  });

  test('of a static site must create its folder without links out of the source', async () => {
    expect(await failureOf(site('true'))).toBe('The build created no folder out.');
    expect(await failureOf(site('ln -s /etc out'))).toBe('The build created no folder out.');
    expect(await failureOf(site('mkdir out; ln -s /etc/passwd out/a'))).toContain(
      'a is a link to /etc/passwd',
    );
    expect(await failureOf(site('mkdir -p out/b; ln -s ../../.. out/b/c'))).toContain(
      'outside of the source',
    );
    expect(await failureOf(site('mkdir out; mkfifo out/pipe'))).toContain(
      'pipe is neither a file nor a folder',
    );
    expect(await failureOf(site('mkdir out; ln -s ../readme.txt out/a'))).toBe('built');
  });

  test('in a missing folder does not start', async () => {
    for (const dir of ['nowhere', '..', '../..', 'readme.txt']) {
      const app = site('echo begun');
      app.sample.plan.dir = dir;
      expect(await failureOf(app)).toBe(`The source has no folder ${dir}.`);
      expect(app.lines()).toEqual([]);
    }
  });

  test('shares its home with the next build of the app', async () => {
    const app = site('echo kept > ~/cache; mkdir -p out');
    await app.build();
    const again = bench.app('site');
    const { runtime } = bench;
    const { appId, number } = app;
    bench.runtime = { ...runtime, build: (job) => runtime.build({ ...job, appId, number }) };
    again.sample.plan.buildCommand = 'mkdir out; cat ~/cache > out/cache; rm ~/cache; ls $TMPDIR > out/tmp';
    const { filesDir } = await again.build();
    bench.runtime = runtime;
    expect(await Bun.file(join(filesDir ?? '', 'cache')).text()).toBe('kept\n');
    expect(await Bun.file(join(filesDir ?? '', 'tmp')).text()).toBe('');
  });

  test('leaves no background processes', async () => {
    const app = site('mkdir out; (sleep 7654321 &); setsid sleep 7654321 & true');
    await app.build();
    expect(Bun.spawnSync(['pgrep', '-f', 'sleep 7654321']).stdout.toString()).toBe('');
  });

  test('that needs an image or several containers is refused with a hint', async () => {
    const { plan } = world.sample('web', '');
    const refuses = (method: 'docker' | 'compose', changes: object) =>
      bench.runtime.refuses({ method, plan: { ...plan, ...changes } });
    expect(await refuses('compose', {})).toContain('SVC_RUNTIME=docker');
    expect(await refuses('docker', { startCommand: null, dockerfile: 'Dockerfile' })).toContain(
      'start command',
    );
    expect(await refuses('docker', { startCommand: null })).toContain('svc.yaml');
    expect(await refuses('docker', { dockerfile: 'Dockerfile' })).toBeNull();
    const app = bench.app('web');
    app.sample.plan.dockerfile = 'Dockerfile';
    await app.build();
    expect(app.lines('platform')).toEqual([expect.stringContaining('Dockerfile is ignored')]);
  });
});
