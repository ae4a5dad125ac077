import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { hasDockerEngine } from '../../../../../scripts/docker-engine.ts';
import { isolationConformance } from '../isolation-testing.ts';
import { mapped, peerAddresses, peerAddresses6 } from '../network-testing.ts';
import type { Bench, SampleApp } from '../testing.ts';
import { attackWithoutEngineRules, type DockerWorld, dockerWorld, withBench } from './testing.ts';

const [publicUrl, privateUrl, metadataUrl] = [
  peerAddresses.public,
  peerAddresses.private,
  peerAddresses.metadata,
].map((address) => `http://${address}/`) as [string, string, string];

describe.if(hasDockerEngine)('with a real engine', () => {
  let world: DockerWorld;
  beforeAll(async () => {
    world = await dockerWorld('single');
  });
  afterAll(async () => await world?.close());

  isolationConformance('apps as containers', async () => ({ ...world, close: async () => {} }));

  async function reached(bench: Bench, app: SampleApp, urls: readonly string[]): Promise<string[]> {
    // At the same time, because most get no answer.
    app.sample.files['app.js'] = `(async () => {
      const all = ${JSON.stringify(urls)};
      const answers = await Promise.all(all.map((url) => fetch(url, { signal: AbortSignal.timeout(3000) }).catch(() => null)));
      for (const [at, url] of all.entries()) if (answers[at]) console.log(url);
      console.log('done');
    })(); setInterval(() => {}, 1000);`;
    await app.start(await app.build());
    await bench.until(() => app.lines('stdout').includes('done'));
    return app.lines('stdout').filter((line) => line.startsWith('http'));
  }

  test('apps and builds are kept apart also while the engine replaces its own rules', async () => {
    const open = `reached ${peerAddresses.public}:80`;
    expect(await attackWithoutEngineRules(world)).toEqual([open, open]);
  });

  test('SVC_APP_EGRESS decides whether apps connect to public and to private addresses', async () => {
    const closed6 = [...Object.values(peerAddresses6), mapped(peerAddresses.metadata)];
    const urls = [publicUrl, privateUrl, metadataUrl, ...closed6.map((address) => `http://[${address}]/`)];
    const asked = `Promise.all(${JSON.stringify(urls)}.map(async (url) => (await fetch(url)).text())).then((texts) => console.log(...texts))`;
    const child = Bun.spawn([...world.engine.enter, 'node', '-e', asked], { stdout: 'pipe' });
    expect((await new Response(child.stdout).text()).trim().split(' ')).toEqual(urls.map(() => 'peer'));
    const expected = { public: [publicUrl], all: [publicUrl, privateUrl], none: [] } as const;
    for (const egress of ['public', 'all', 'none'] as const)
      await withBench(world, { isolation: { use: 'required', egress } }, async (bench) => {
        expect(await reached(bench, bench.app('web'), urls)).toEqual([...expected[egress]]);
      });
  });

  test('an app uses its services of the platform, on the machine and elsewhere, also after a restart', async () => {
    const port = await world.servesOnMachine();
    const urls = [`http://host.docker.internal:${port}/`, privateUrl];
    await withBench(world, { isolation: { use: 'required', egress: 'none' } }, async (bench, reopen) => {
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
  });

  test('where the network rules cannot be set, apps are refused, except on the own machine of a developer', async () => {
    const baseImage = 'localhost:1/missing:1';
    const refusals: (string | null)[] = [];
    for (const use of ['required', 'preferred', 'none'] as const)
      await withBench(world, { baseImage, isolation: { use, egress: 'public' } }, async ({ runtime }) => {
        refusals.push(await runtime.refuses(world.sample('web', '')));
      });
    expect(refusals).toEqual([expect.stringContaining('network rules of the Docker engine'), null, null]);
  });

  test('before the disk is full, the app that holds most of it is stopped', async () => {
    await withBench(world, { diskReserveMb: 1024 ** 3 }, async (bench) => {
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

  test('before the disk is full, a build that fills it is stopped', async () => {
    await withBench(world, { diskReserveMb: 1024 ** 3 }, async (bench) => {
      for (const name of ['web', 'site'] as const) {
        const app = bench.app(name);
        app.sample.plan.buildCommand = 'dd if=/dev/zero of=big bs=1M count=20; sleep 100';
        const error = await app.build().catch((thrown: unknown) => thrown);
        expect(error).toMatchObject({ step: 'build', message: expect.stringContaining('almost full') });
      }
    });
  });

  test('files in volumes of the image count as disk space', async () => {
    await withBench(world, {}, async (bench) => {
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
    await withBench(world, {}, async (bench) => {
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
