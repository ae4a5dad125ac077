import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { hasDockerEngine } from '../../../../../scripts/docker-engine.ts';
import { runtimeConformance } from '../conformance-testing.ts';
import { BuildError, type Runtime } from '../runtime.ts';
import { type Bench, openBench, type SampleApp } from '../testing.ts';
import type { ImageArtifact } from './docker-deps.ts';
import { createDockerRuntime } from './docker-runtime.ts';
import { createEngine } from './engine.ts';
import { type DockerWorld, dockerWorld } from './testing.ts';

describe.if(hasDockerEngine)('containers', () => {
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

  const failureOf = (app: SampleApp) =>
    app.build().then(
      () => 'built',
      (error: unknown) => (error instanceof BuildError ? error.message : Promise.reject(error)),
    );
  const inspect = async (id: string, form: string) =>
    (await world.engine.docker('inspect', '--format', form, `svc-${id}`)).trim();

  function composed(file: string): SampleApp {
    const app = bench.app('web');
    app.sample.method = 'compose';
    Object.assign(app.sample.plan, { composeFile: 'compose.yaml', startCommand: null });
    app.sample.files['compose.yaml'] = file;
    app.sample.files['web/Dockerfile'] =
      `FROM ${world.engine.baseImage}\nCOPY app.js /\nCMD ["node", "/app.js"]\n`;
    app.sample.files['web/app.js'] = app.sample.files['app.js'] ?? '';
    return app;
  }

  runtimeConformance('apps as containers', async () => ({ ...world, close: async () => {} }));

  test('lose no line of a command whose log the engine ends early', async () => {
    const built = await bench.app('web').build();
    const { dataDir, engine } = world;
    const front = endLogsEarly(engine.host, join(dirname(dataDir), 'front.sock'));
    const runtime = await createDockerRuntime({ ...world.optionsOf(dataDir), host: front.host });
    const app = openBench(world, runtime).app('web');
    const { exitCode } = await app.command(built, 'echo first; sleep 1; echo second; echo third >&2; exit 3');
    expect([exitCode, front.ended(), app.lines().sort()]).toEqual([3, 1, ['first', 'second', 'third']]);
    await runtime.close();
    await front.stop();
  });

  test('of image builds get their limit of processes, or the build is stopped', async () => {
    const refuseUpdates = async ({ pathname }: URL, { body }: Response) => {
      if (pathname.endsWith('/update')) return Response.json({ message: 'no updates here' }, { status: 403 });
      // This server sends the head with the first bytes.
      const begun = async function* () {
        yield '\n';
        yield* body as unknown as AsyncIterable<Uint8Array>;
      };
      return pathname.endsWith('/events') ? new Response(begun() as unknown as ReadableStream) : null;
    };
    const endEvents = async ({ pathname }: URL) => (pathname.endsWith('/events') ? new Response('\n') : null);
    const cases = { 'no updates here': refuseUpdates, 'no longer reports': endEvents };
    for (const [problem, change] of Object.entries(cases)) {
      const { dataDir, engine } = world;
      const front = standBefore(engine.host, join(dirname(dataDir), 'front.sock'), change);
      const runtime = await createDockerRuntime({ ...world.optionsOf(dataDir), host: front.host });
      const app = openBench(world, runtime).app('web');
      app.sample.plan.buildCommand = 'sleep 100';
      const error = await app.build().catch((thrown: unknown) => thrown);
      expect([problem, String(error)]).toEqual([problem, expect.stringContaining(problem)]);
      await runtime.close();
      await front.stop();
    }
  });

  test('have the limits of the app, no capabilities and no public ports', async () => {
    const instance = await bench.app('web').run();
    const held = await inspect(
      instance.id,
      '{{json .HostConfig.Memory}} {{json .HostConfig.MemorySwap}} {{json .HostConfig.NanoCpus}} {{json .HostConfig.PidsLimit}} {{json .HostConfig.CapDrop}} {{json .HostConfig.SecurityOpt}} {{json .HostConfig.Binds}} {{json .HostConfig.Privileged}} {{json .Config.User}}',
    );
    const memory = 128 * 1024 * 1024;
    expect(held).toBe(
      `${memory} ${memory} 1000000000 512 ["ALL"] ["no-new-privileges"] null false "10001:10001"`,
    );
    expect(await inspect(instance.id, '{{range .NetworkSettings.Ports}}{{(index . 0).HostIp}} {{end}}')).toBe(
      `${world.engine.address} ${world.engine.address}`,
    );
    await instance.stop();
  });

  test('of different apps cannot connect to each other', async () => {
    const one = await bench.app('web').run();
    const two = bench.app('web');
    const ip = await inspect(one.id, '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}');
    two.sample.files['app.js'] =
      `require('node:http').get({ host: '${ip}', port: 8080, timeout: 1500 }, () => console.log('reached'))
        .on('timeout', () => { console.log('not reached'); process.exit(0); }).on('error', () => console.log('not reached'));`;
    const instance = await two.start(await two.build());
    await bench.until(() => two.lines().some((line) => line.endsWith('reached')));
    expect(two.lines()).toContain('not reached');
    await instance.stop();
    await one.stop();
  });

  test('keep their address after a restart', async () => {
    const app = bench.app('web');
    app.sample.files['app.js'] = (app.sample.files['app.js'] ?? '').replace(
      "if (request.url === '/burn')",
      "if (request.url === '/end') process.exit(5);\n  if (request.url === '/burn')",
    );
    const instance = await app.run();
    await fetch(`http://${instance.address}/end`).catch(() => {});
    await bench.until(async () => {
      const found = await instance.getState();
      return found.state === 'running' && found.restarts === 1;
    });
    expect(await bench.answer(instance.address, '/env')).toContain('PORT=8080');
    await bench.until(() => app.lines('platform').length > 0);
    await instance.stop();
  });

  test('are built from a Dockerfile with .dockerignore, and use its port', async () => {
    const app = bench.app('web', { OF_THE_BUILD: 'asked-for', API_KEY: 'sk-very-secret' });
    Object.assign(app.sample.plan, { dockerfile: 'Dockerfile', startCommand: null });
    app.sample.files.Dockerfile = `ARG BASE=${world.engine.baseImage}\nFROM \${BASE}\nARG OF_THE_BUILD\nCOPY . /srv/\nRUN ls /srv; echo built as $OF_THE_BUILD\nEXPOSE 3456\nCMD ["node", "/srv/app.js"]\n`;
    app.sample.files['.dockerignore'] = '*.txt\n!keep.txt\nDockerfile\n';
    app.sample.files['secret.txt'] = 'secret';
    app.sample.files['keep.txt'] = 'kept';
    const built = await app.build();
    expect(app.lines()).toContain('built as asked-for');
    expect(app.lines('platform').join('\n')).toMatch(/Warning: .*OF_THE_BUILD as ARG.*history/);
    const { image, imageId } = built.artifact as unknown as ImageArtifact;
    const history = await world.engine.docker('history', '--no-trunc', '--format', '{{.CreatedBy}}', image);
    expect([history.includes('asked-for'), history.includes('sk-very-secret')]).toEqual([true, false]);
    expect(built.digest).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(built.digest).not.toBe(imageId);
    expect(image).not.toContain(app.deploymentId);
    const instance = await app.start(built);
    expect(await bench.answer(instance.address, '/env')).toMatch(
      /^API_KEY=sk-very-secret$[\s\S]*^PORT=3456$/m,
    );
    expect(app.lines('stdout')).toContain('keep.txt');
    expect(app.lines('stdout')).not.toContain('secret.txt');
    expect(app.lines('platform')).toContain('CMD ["node", "/srv/app.js"]');
    await instance.stop();
  });

  test('cannot be built from the image of another app', async () => {
    const victim = bench.app('web');
    victim.sample.files['secret-code.txt'] = 'of the victim';
    const { artifact } = await victim.build();
    const { image, imageId } = artifact as unknown as ImageArtifact;
    const id = imageId.replace('sha256:', '');
    const by = async (text: string, env: Record<string, string> = {}) => {
      const app = bench.app('web', env);
      Object.assign(app.sample.plan, { dockerfile: 'Dockerfile', startCommand: null });
      app.sample.files.Dockerfile = `${text}\nRUN cat /app/secret-code.txt /stolen\n`;
      return `${await failureOf(app)} ${app.lines().join(' ')}`;
    };
    const own = world.engine.baseImage;
    const refusals = await Promise.all([
      by(`FROM ${image}`),
      by(`FROM ${id.slice(0, 12)}`),
      by(`FROM ${id.slice(0, 3)}`),
      by(`FROM ${imageId}`),
      by('ARG TAKEN\nFROM $TAKEN', { TAKEN: id.slice(0, 12) }),
      by(`FROM ${own}\nCOPY --from=${id.slice(0, 12)} /app/secret-code.txt /stolen`),
    ]);
    for (const said of refusals)
      expect(said).toMatch(/^The Dockerfile: .*(?:ID of an image|platform’s images)/);
    await bench.runtime.discard(artifact);
  });

  test('leave no variables on disk after a kill', async () => {
    const dataDir = join(world.dataDir, 'killed');
    const left = join(dataDir, 'runtime', 'docker', 'scratch', crypto.randomUUID());
    mkdirSync(left, { recursive: true });
    writeFileSync(join(left, 'compose.json'), 'secret');
    const next = await createDockerRuntime(world.optionsOf(dataDir));
    expect(existsSync(left)).toBe(false);
    const beside = await createDockerRuntime(world.optionsOf(dataDir));
    expect(readdirSync(dirname(left)).filter((name) => !name.includes('.'))).toHaveLength(2);
    await next.close();
    await beside.close();
    expect(readdirSync(dirname(left))).toEqual([]);
  });

  test('are not built from missing, invalid or outside files', async () => {
    const app = bench.app('web');
    Object.assign(app.sample.plan, { dockerfile: 'Dockerfile' });
    expect(await failureOf(app)).toContain('has no file Dockerfile');
    app.sample.plan.dockerfile = '../../../etc/passwd';
    expect(await failureOf(app)).toContain('has no file');
    app.sample.plan.dockerfile = 'Dockerfile';
    app.sample.files.Dockerfile = 'FROB x\n';
    expect(await failureOf(app)).toContain('FROB');
    const site = bench.app('site');
    site.sample.plan.outputDir = 'nowhere';
    expect(await failureOf(site)).toContain('created no folder nowhere');
    const leaving = bench.app('site');
    leaving.sample.plan.buildCommand = 'mkdir out && ln -s /etc/passwd out/link';
    expect(await failureOf(leaving)).toContain('link');
    expect(await world.engine.docker('ps', '-aq', '--filter', 'label=svc.deployment')).toBe('');
  });

  test('have each log line once across a server restart', async () => {
    const app = bench.app('web');
    app.sample.files['app.js'] = 'let at = 0; setInterval(() => console.log("tick " + ++at), 5);';
    const instance = await app.start(await app.build());
    const ticks = () => app.lines('stdout').filter((line) => line.startsWith('tick '));
    await bench.until(() => ticks().length > 50);
    await bench.runtime.close();
    const before = ticks().length;
    bench.runtime = await world.open();
    const ref = { instanceId: instance.id, handle: {} };
    await bench.runtime.resumeLog?.(ref, app.log);
    await bench.runtime.resumeLog?.(ref, app.log);
    await bench.until(() => ticks().length > before + 100);
    await instance.stop();
    expect(ticks()).toEqual(ticks().map((_, at) => `tick ${at + 1}`));
  });

  test('of another installation or data dir are ignored', async () => {
    const app = bench.app('web');
    const instance = await app.run();
    const dataDir = join(world.dataDir, 'other');
    mkdirSync(dataDir);
    const other: Runtime = await createDockerRuntime({
      ...world.optionsOf(dataDir),
      installation: 'another',
    });
    expect([other.node, await other.list()]).toEqual([bench.runtime.node, []]);
    const heard: string[] = [];
    await other.resumeLog?.({ instanceId: instance.id, handle: {} }, (_, line) => heard.push(line));
    await instance.stop();
    expect([app.lines().includes('bye'), heard]).toEqual([true, []]);
    await other.close();
  });

  test('of a compose app are started, limited and removed together', async () => {
    const app = composed(`services:
  web: { build: web, environment: { GREETING: "\${WORD} $$HOME" }, ports: ["80:8080"] }
  side: { image: "${world.engine.baseImage}", command: ["sh", "-c", "echo from the side; sleep 1000"] }
`);
    const built = await app.build();
    const instance = await app.start(built);
    const text = await bench.answer(instance.address, '/env');
    expect(text).toContain('GREETING= $HOME\n');
    expect(text).not.toContain('of-the-server');
    await bench.until(() => app.lines().includes('side | from the side'));
    const names = await world.engine.docker(
      'ps',
      '--filter',
      `label=svc.instance=${instance.id}`,
      '--format',
      '{{.Ports}}',
    );
    expect(names.match(/->/g)).toHaveLength(1);
    expect(await instance.getState()).toEqual({ state: 'running', restarts: 0 });
    expect((await instance.usage())?.memoryBytes).toBeGreaterThan(100_000);
    expect((await bench.runtime.list()).filter(({ appId }) => appId === app.appId)).toMatchObject([
      { instanceId: instance.id, address: instance.address },
    ]);
    await instance.stop(1_000);
    expect(await instance.getState()).toEqual({ state: 'gone' });
    const left = ['--filter', `label=com.docker.compose.project=svc-${instance.id}`, '-q'];
    expect(await world.engine.docker('ps', '-a', ...left)).toBe('');
    expect(await world.engine.docker('network', 'ls', ...left)).toBe('');
    const noted = async () =>
      ((await bench.runtime.artifacts?.()) ?? []).filter(({ appId }) => appId === app.appId);
    expect(await noted()).toEqual([{ appId: app.appId, artifact: built.artifact }]);
    await bench.runtime.discard(built.artifact);
    expect(await noted()).toEqual([]);
    expect(await world.engine.docker('images', '-q', `localhost:1/svc/${app.appId}`)).toBe('');
  });

  test('of a compose app share volumes, which only one deployment uses at a time', async () => {
    const app = composed(`services:
  web: { build: web, ports: ["80:8080"], volumes: ["data:/data"], command: ["sh", "-c", "echo x >> /data/log; wc -l < /data/log; exec node /app.js"] }
volumes: { data: }
`);
    const built = await app.build();
    const one = await app.start(built);
    await bench.answer(one.address, '/env');
    const seen: [id: string, state: string, answers: boolean][] = [];
    bench.runtime.onStateChange?.(async (id) => {
      const answers = !(await bench.isSilent(one.address));
      seen.push([id, (await bench.runtime.getState({ instanceId: id, handle: {} })).state, answers]);
    });
    const states = new Set<string>();
    let isReplaced = false;
    const looking = (async () => {
      while (!isReplaced) states.add((await one.getState()).state);
    })();
    const two = await app.start(built);
    await bench.answer(two.address, '/env');
    isReplaced = true;
    await looking;
    // A state of failure would have it replaced, which would stop the other.
    expect([...states.difference(new Set(['running', 'restarting']))]).toEqual([]);
    expect(await one.getState()).toMatchObject({
      state: 'restarting',
      detail: expect.stringContaining('Waiting for another'),
    });
    expect(seen).toEqual([[one.id, 'restarting', true]]);
    expect(app.lines('stdout').filter((line) => /^\d$/.test(line))).toEqual(['1', '2']);
    await two.stop(1_000);
    expect(await bench.answer(one.address, '/env')).toContain('PORT=8080');
    await one.stop(1_000);
    expect(await world.engine.docker('volume', 'ls', '-q')).toContain(`svc-${app.appId}-data`);
  });

  test('of a forbidden compose file are rejected before the build', async () => {
    const app = composed('services:\n  web: { build: web, ports: ["80"], privileged: true }\n');
    expect(await failureOf(app)).toContain('service web: privileged is not allowed');
    expect(await world.engine.docker('images', '-q', `localhost:1/svc/${app.appId}`)).toBe('');
  });

  test('are refused without a compose tool, and an unreachable engine is reported', async () => {
    const dataDir = join(world.dataDir, 'poor');
    mkdirSync(dataDir);
    const options = { ...world.optionsOf(dataDir), baseEnvironment: { path: '/nowhere', forBuilds: {} } };
    const poor = await createDockerRuntime(options);
    const { plan } = composed('').sample;
    expect(await poor.refuses({ method: 'compose', plan })).toContain('No compose tool');
    expect(await poor.refuses({ method: 'docker', plan })).toContain('No Dockerfile');
    expect(await bench.runtime.refuses({ method: 'compose', plan })).toBeNull();
    await poor.close();
    const away = createEngine('unix:///nowhere/d.sock');
    expect(String(await away.json('GET', '/info').catch((error: unknown) => error))).toContain(
      'is unreachable',
    );
    const late = await createDockerRuntime({ ...options, host: 'unix:///nowhere/d.sock' });
    expect([late.node, (await late.check()).ok]).toEqual([poor.node, false]);
    await late.close();
  });
});

/** In front of the engine: `change` gives its answers, or null for those as they are. */
function standBefore(
  host: string,
  path: string,
  change: (url: URL, answer: Response) => Promise<Response | null>,
) {
  const server = Bun.serve({
    unix: path,
    async fetch(request) {
      const url = new URL(request.url);
      const { method, headers, body } = request;
      const to = { method, headers, body, unix: host.replace('unix://', ''), timeout: false };
      const answer = await fetch(`http://engine${url.pathname}${url.search}`, to as RequestInit);
      return (await change(url, answer)) ?? answer;
    },
  });
  return { host: `unix://${path}`, stop: () => server.stop(true) };
}

/** The log that is followed ends after its first bytes. */
function endLogsEarly(host: string, path: string) {
  let ended = 0;
  const front = standBefore(host, path, async ({ pathname, searchParams }, answer) => {
    if (!pathname.endsWith('/logs') || searchParams.get('follow') !== '1') return null;
    const reader = answer.body?.getReader();
    const first = await reader?.read();
    await reader?.cancel();
    ended++;
    return new Response(first?.value, answer);
  });
  return { ...front, ended: () => ended };
}
