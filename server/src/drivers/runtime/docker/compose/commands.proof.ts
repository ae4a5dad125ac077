import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { hasDockerEngine } from '../../../../../../scripts/docker-engine.ts';
import { type Bench, openBench, type SampleApp } from '../../testing.ts';
import { type DockerWorld, dockerWorld } from '../testing.ts';

describe.if(hasDockerEngine)('a compose app', () => {
  let world: DockerWorld;
  let bench: Bench;
  beforeAll(async () => {
    world = await dockerWorld('single');
    bench = openBench(world, await world.open());
  });
  afterAll(async () => {
    await bench?.runtime.close();
    await world?.close();
  });

  /** `db` answers with the number of its starts, which its volume holds, some time after it has started. */
  function newApp(): SampleApp {
    const app = bench.app('web', { WORD: 'hello' });
    app.sample.method = 'compose';
    Object.assign(app.sample.plan, { composeFile: 'compose.yaml', startCommand: null });
    const dockerfile = (file: string) =>
      `FROM ${world.engine.baseImage}\nWORKDIR /app\nCOPY ${file} .\nENTRYPOINT ["node", "${file}"]\n`;
    Object.assign(app.sample.files, {
      'compose.yaml': `services:
  web:
    build: web
    ports: ["80:8080"]
    environment: { GREETING: "\${WORD}" }
    volumes: ["files:/files"]
    depends_on: { db: { condition: service_healthy } }
  db:
    build: db
    volumes: ["rows:/rows"]
    healthcheck: { test: ["CMD", "test", "-e", "/tmp/ready"], interval: 1s, retries: 30 }
volumes: { files: , rows: }
`,
      'web/Dockerfile': dockerfile('app.js'),
      'web/app.js': app.sample.files['app.js'] ?? '',
      'db/Dockerfile': dockerfile('db.js'),
      'db/db.js': `const fs = require('node:fs');
fs.appendFileSync('/rows/starts', 'x');
const server = require('node:http').createServer((_, answer) => answer.end(fs.readFileSync('/rows/starts')));
setTimeout(() => server.listen(5000, () => fs.writeFileSync('/tmp/ready', '')), 500);`,
    });
    return app;
  }

  const ask = `node -e "fetch('http://db:5000').then((it) => it.text()).then(console.log)"`;
  const containers = (appId: string) =>
    world.engine.docker('ps', '-a', '--filter', `label=svc.app=${appId}`, '--format', '{{.Names}}');
  const names = async (appId: string) => (await containers(appId)).split('\n').filter(Boolean).length;

  test.concurrent('runs a command in its main service, beside the services that run', async () => {
    const app = newApp();
    const built = await app.build();
    const instance = await app.start(built);
    await bench.answer(instance.address, '/env');
    const result = await app.command(built, `${ask}; echo $GREETING in $PWD; touch /files/it; exit 7`);
    expect(result).toEqual({ exitCode: 7, how: 'ended with exit code 7' });
    expect(app.lines('stdout')).toEqual(expect.arrayContaining(['x', 'hello in /app']));
    expect(await app.command(built, 'test -e /files/it')).toMatchObject({ exitCode: 0 });
    expect(await names(app.appId)).toBe(2);

    // The next deployment does not wait for a command, and the network of the one before goes.
    const late = app.command(built, 'trap "exit 3" TERM; echo begun; sleep 60 & wait');
    await bench.until(() => app.lines().includes('begun'));
    const next = await app.start(built);
    expect(await late).toMatchObject({ exitCode: expect.any(Number) });
    await instance.stop(1_000);
    await bench.answer(next.address, '/env');
    expect(await next.getState()).toMatchObject({ state: 'running' });
    await next.stop(1_000);
    expect(await names(app.appId)).toBe(0);
  });

  test.concurrent('that does not run starts what its main service depends on for a command, and removes it', async () => {
    const app = newApp();
    const built = await app.build();
    expect(await app.command(built, ask)).toEqual({ exitCode: 0, how: 'ended with exit code 0' });
    expect(app.lines('stdout')).toContain('x');
    expect(await bench.runtime.list()).not.toContainEqual(expect.objectContaining({ appId: app.appId }));
    expect(await names(app.appId)).toBe(0);
    // Volumes stay, as for the app itself.
    const begunAt = performance.now();
    expect(await app.command(built, ask)).toMatchObject({ exitCode: 0 });
    const tookMs = Math.ceil(performance.now() - begunAt);
    expect(app.lines('stdout')).toContain('xx');
    // Its time begins with the start of what it depends on.
    expect(await app.command(built, 'sleep 600', { timeoutMs: 2 * tookMs })).toMatchObject({
      exitCode: null,
    });
    expect(await names(app.appId)).toBe(0);
  });

  test.concurrent('in review has volumes of its own, and what is live runs on', async () => {
    const app = newApp();
    const built = await app.build();
    const live = await app.start(built);
    await bench.answer(live.address, '/env');
    app.sample.isInReview = true;
    const staged = await app.start(built);
    await bench.answer(staged.address, '/env');
    expect(await live.getState()).toEqual({ state: 'running', restarts: 0 });
    expect(await bench.answer(live.address, '/env')).toContain('GREETING=hello');
    const volumes = () => world.engine.docker('volume', 'ls', '-q');
    expect(await volumes()).toContain(`svc-${staged.id}-rows`);
    expect(await app.command(built, ask)).toMatchObject({ exitCode: 0 });
    expect(app.lines('stdout')).toContain('x');
    await staged.stop(1_000);
    expect(await volumes()).not.toContain(staged.id);
    expect(await volumes()).toContain(`svc-${app.appId}-rows`);
    expect(await live.getState()).toEqual({ state: 'running', restarts: 0 });
    await live.stop(1_000);
  });
});
