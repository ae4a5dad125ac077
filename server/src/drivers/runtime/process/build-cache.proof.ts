import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Bench, openBench } from '../testing.ts';
import { processWorld } from './testing.ts';

const world = processWorld();
let bench: Bench;
beforeAll(async () => {
  bench = openBench(world, await world.open());
});
afterAll(async () => {
  await bench?.runtime.close();
  await world.close();
});

/** Installs what is not there yet; the output holds what the build found. */
function openSite() {
  const app = bench.app('site');
  Object.assign(app.sample.files, { 'package.json': '{}', 'package-lock.json': '{"version":1}' });
  Object.assign(app.sample.plan, {
    installCommand: `test -e node_modules/it/id || { mkdir -p node_modules/it && cat /proc/sys/kernel/random/uuid > node_modules/it/id; }`,
    buildCommand: `mkdir -p out .next/cache && echo built >> .next/cache/builds && cp .next/cache/builds node_modules/it/id out`,
    outputDir: 'out',
  });
  const build = async () => {
    rmSync(app.sourceDir, { recursive: true, force: true });
    const { filesDir } = await app.build();
    const read = (name: string) => readFileSync(join(filesDir ?? '', name), 'utf8');
    return { id: read('id'), builds: read('builds').split('\n').length - 1 };
  };
  /** The next build is of another deployment. Returns the one before. */
  const renew = () => {
    const before = app.deploymentId;
    app.deploymentId = crypto.randomUUID();
    return before;
  };
  return { ...app, build, renew };
}

describe('a build', () => {
  test('with the same lock file has the packages of the build before, and its framework cache', async () => {
    const app = openSite();
    const first = await app.build();
    app.sample.files['page.html'] = 'new';
    expect(await app.build()).toEqual({ id: first.id, builds: 2 });
    expect(app.lines('platform')).toContain(
      'The same packages as in the last build: restored from the cache.',
    );
  });

  test('skips an install that has nothing left to do, unless the project has a script for it', async () => {
    const app = bench.app('web');
    Object.assign(app.sample.files, {
      'package.json': '{"name":"it","workspaces":["lib"]}',
      'lib/package.json': '{"name":"lib","version":"1.0.0"}',
      'package-lock.json': JSON.stringify({
        name: 'it',
        lockfileVersion: 3,
        packages: {
          '': { name: 'it', workspaces: ['lib'] },
          lib: { version: '1.0.0' },
          'node_modules/lib': { resolved: 'lib', link: true },
        },
      }),
    });
    app.sample.plan.installCommand = 'npm ci';
    await app.build();
    await app.build();
    app.sample.files['package.json'] =
      '{"name":"it","workspaces":["lib"],"scripts":{"prepare":"echo prepared"}}';
    await app.build();
    await app.build();
    expect(app.lines('platform').filter((line) => line.startsWith('$ npm'))).toEqual([
      '$ npm ci',
      '$ npm ci',
      '$ npm install --prefer-offline',
    ]);
    expect(app.lines().filter((line) => line === 'prepared')).toHaveLength(2);
  });

  test('with another lock file installs again', async () => {
    const app = openSite();
    const first = await app.build();
    app.sample.files['package-lock.json'] = '{"version":2}';
    const second = await app.build();
    expect(second.id).not.toBe(first.id);
    expect((await app.build()).id).toBe(second.id);
  });

  test('without a lock file, or of another app, takes nothing over', async () => {
    const [app, other] = [openSite(), openSite()];
    delete app.sample.files['package-lock.json'];
    const ids = [(await app.build()).id, (await app.build()).id, (await other.build()).id];
    expect(new Set(ids).size).toBe(3);
  });

  test('that fails with a cache leaves none for the next one', async () => {
    const app = openSite();
    const first = await app.build();
    const { buildCommand } = app.sample.plan;
    app.sample.plan.buildCommand = 'false';
    await expect(app.build()).rejects.toThrow('exit code 1');
    app.sample.plan.buildCommand = buildCommand;
    const next = await app.build();
    expect([next.id === first.id, next.builds]).toEqual([false, 1]);
  });

  test('whose result has to be reviewed takes over what an approved one has stored, and nothing else', async () => {
    const app = openSite();
    const unreviewed = await app.build();
    app.sample.isReviewed = true;
    const rejected = await app.build();
    expect(rejected.id).not.toBe(unreviewed.id);
    app.renew();
    const approved = await app.build();
    expect([approved.id === rejected.id, approved.builds]).toEqual([false, 1]);

    app.sample.liveDeploymentId = app.renew();
    expect(await app.build()).toEqual({ id: approved.id, builds: 2 });
    expect(app.lines('platform').at(-1)).toContain('$ ');
    expect(app.lines('platform')).toContain(
      'The same packages as in the last approved build: restored from the cache.',
    );
    // That one was not approved; the approved one counts on.
    app.renew();
    expect(await app.build()).toEqual({ id: approved.id, builds: 2 });
    // Approved, it keeps the packages, which it has not stored itself.
    app.sample.liveDeploymentId = app.renew();
    expect(await app.build()).toEqual({ id: approved.id, builds: 3 });
  });

  test('whose result has to be reviewed cannot change the cache of the approved one', async () => {
    const app = openSite();
    app.sample.isReviewed = true;
    const first = await app.build();
    app.sample.liveDeploymentId = app.renew();
    const { buildCommand } = app.sample.plan;
    app.sample.plan.buildCommand = `for it in "$HOME"/../*-approved/.svc-build-cache/packages-*; do
  echo poison >"$it/node_modules/it/id" || rm -rf "$it" || chmod 777 "$it"; done; ${buildCommand}`;
    expect((await app.build()).id).toBe(first.id);
    app.sample.plan.buildCommand = buildCommand;
    app.renew();
    expect((await app.build()).id).toBe(first.id);
  });

  test('whose result has to be reviewed, and that fails with a cache, leaves none for the next one', async () => {
    const app = openSite();
    app.sample.isReviewed = true;
    const first = await app.build();
    app.sample.liveDeploymentId = app.renew();
    const { buildCommand } = app.sample.plan;
    app.sample.plan.buildCommand = 'false';
    await expect(app.build()).rejects.toThrow('exit code 1');
    app.sample.plan.buildCommand = buildCommand;
    app.renew();
    expect((await app.build()).id).not.toBe(first.id);
  });
});
