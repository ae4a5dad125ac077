import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { hasDockerEngine, needsDockerEngine } from '../../../../../scripts/docker-engine.ts';
import { isolationConformance } from '../conformance-isolation.ts';
import type { Runtime } from '../runtime.ts';
import { type Bench, openBench, type SampleApp } from '../testing.ts';
import { createDockerRuntime, type DockerRuntimeOptions } from './docker-runtime.ts';
import { type DockerWorld, dockerWorld, startPeer } from './testing.ts';

describe.skipIf(!hasDockerEngine && !needsDockerEngine)('with a real engine', () => {
  let world: DockerWorld;
  beforeAll(async () => {
    world = await dockerWorld('single');
  });
  afterAll(async () => await world?.close());

  isolationConformance('apps as containers', async () => ({ ...world, close: async () => {} }));

  async function withBench(
    options: Partial<DockerRuntimeOptions>,
    act: (bench: Bench, reopen: () => Promise<Runtime>) => Promise<void>,
  ) {
    const dataDir = join(world.dataDir, crypto.randomUUID());
    const open = () =>
      createDockerRuntime({ ...world.optionsOf(dataDir), installation: dataDir, ...options });
    const bench = openBench(world, await open());
    try {
      await act(bench, open);
    } finally {
      for (const instance of await bench.runtime.list()) await bench.runtime.stop(instance, { graceMs: 0 });
      await bench.runtime.close();
    }
  }

  async function reached(bench: Bench, app: SampleApp, urls: readonly string[]): Promise<string[]> {
    app.sample.files['app.js'] = `(async () => {
      for (const url of ${JSON.stringify(urls)})
        if (await fetch(url, { signal: AbortSignal.timeout(3000) }).catch(() => null)) console.log(url);
      console.log('done');
    })(); setInterval(() => {}, 1000);`;
    await app.start(await app.build());
    await bench.until(() => app.lines('stdout').includes('done'));
    return app.lines('stdout').filter((line) => line.startsWith('http'));
  }

  test('SVC_APP_EGRESS decides whether apps connect to public and to private addresses', async () => {
    const peer = await startPeer(world.engine);
    const { publicUrl, privateUrl, metadataUrl } = peer;
    const expected = { public: [publicUrl], all: [publicUrl, privateUrl], none: [] } as const;
    for (const egress of ['public', 'all', 'none'] as const)
      await withBench({ isolation: { use: 'required', egress } }, async (bench) => {
        const urls = [publicUrl, privateUrl, metadataUrl];
        expect(await reached(bench, bench.app('web'), urls)).toEqual([...expected[egress]]);
      });
    await peer.stop();
  });

  test('an app uses its services of the platform, on the machine and elsewhere, also after a restart', async () => {
    const peer = await startPeer(world.engine);
    const port = await world.servesOnMachine();
    const urls = [`http://host.docker.internal:${port}/`, peer.privateUrl];
    await withBench({ isolation: { use: 'required', egress: 'none' } }, async (bench, reopen) => {
      const app = bench.app('web');
      app.services = urls;
      app.sample.files['app.js'] = `(async () => {
        for (;;) for (const url of ${JSON.stringify(urls)})
          console.log(await fetch(url, { signal: AbortSignal.timeout(3000) }).then(() => url, String));
      })();`;
      const instance = await app.start(await app.build());
      await bench.until(() => app.lines('stdout').length > 10);
      await bench.runtime.close();
      bench.runtime = await reopen();
      await bench.runtime.resumeLog?.({ instanceId: instance.id, handle: {} }, app.log);
      // Its start sets the rules again, from the labels of what runs.
      await bench.app('web').run();
      const seen = app.lines('stdout').length;
      await bench.until(() => app.lines('stdout').length > seen + 10);
      expect([...new Set(app.lines('stdout'))].sort()).toEqual([...urls].sort());
    });
    await peer.stop();
  });

  test('before the disk is full, the app that holds most of it is stopped', async () => {
    await withBench({ diskReserveMb: 1024 ** 3 }, async (bench) => {
      const small = bench.app('web');
      const running = await small.run();
      const large = bench.app('web');
      large.sample.plan.startCommand = 'dd if=/dev/zero of=/tmp/big bs=1M count=20; sleep 100';
      const instance = await large.start(await large.build());
      await bench.until(() => large.lines('platform').some((line) => line.includes('disk of the machine')));
      await bench.until(async () => (await instance.getState()).state === 'failed');
      expect(await instance.getState()).toMatchObject({ detail: expect.stringContaining('almost full') });
      expect(await bench.answer(running.address, '/env')).toContain('PORT=');
    });
  });

  test('files in volumes of the image count as disk space', async () => {
    await withBench({}, async (bench) => {
      const app = bench.app('web');
      Object.assign(app.sample.plan, { dockerfile: 'Dockerfile', startCommand: null });
      app.sample.files.Dockerfile = `FROM ${world.engine.baseImage}
VOLUME /data
CMD dd if=/dev/zero of=/data/big bs=1M count=100; sleep 100
`;
      await app.start(await app.build());
      await bench.until(() => app.lines('platform').some((line) => line.includes('more than 64 MiB')));
    });
  });

  test('services of a compose app connect to each other and to nothing else', async () => {
    await withBench({}, async (bench) => {
      const port = await world.servesOnMachine();
      const victim = await bench.app('web').run();
      const app = bench.app('web');
      app.sample.method = 'compose';
      Object.assign(app.sample.plan, { composeFile: 'compose.yaml', startCommand: null });
      const urls = [
        'http://side:8080/',
        ...(await world.targets?.(victim))!.hosts.flatMap((host) =>
          [8080, port, victim.address.split(':').at(-1)].map((each) => `http://${host}:${each}/`),
        ),
      ];
      app.sample.files.Dockerfile = `FROM ${world.engine.baseImage}\nCOPY *.js /\nCMD ["node", "/app.js"]\n`;
      app.sample.files['side.js'] =
        "require('node:http').createServer((_, answer) => answer.end()).listen(8080)";
      app.sample.files['compose.yaml'] = `services:
  web: { build: ., ports: ["80:8080"], depends_on: [side] }
  side: { build: ., command: ["node", "/side.js"] }
`;
      app.sample.files['app.js'] = `(async () => {
        while (!(await fetch('http://side:8080/').catch(() => null))) await new Promise((go) => setTimeout(go, 50));
        await Promise.all(${JSON.stringify(urls)}.map(async (url) => {
          if (await fetch(url, { signal: AbortSignal.timeout(3000) }).catch(() => null)) console.log(url);
        }));
        console.log('done');
      })(); setInterval(() => {}, 1000);`;
      await app.start(await app.build());
      await bench.until(() => app.lines('stdout').includes('web | done'));
      const lines = app.lines('stdout').filter((line) => line.startsWith('web | http'));
      expect(lines).toEqual(['web | http://side:8080/']);
    });
  });
});
