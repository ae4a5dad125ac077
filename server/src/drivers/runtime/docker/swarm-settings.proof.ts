import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { hasDockerEngine } from '../../../../../scripts/docker-engine.ts';
import { type Bench, openBench } from '../testing.ts';
import { checkEngine, createDockerRuntime } from './docker-runtime.ts';
import { createEngine } from './engine.ts';
import { ensureNetwork, installationHash } from './networks.ts';
import { type DockerWorld, dockerWorld } from './testing.ts';

describe.if(hasDockerEngine)('with a real Swarm', () => {
  let world: DockerWorld;
  let bench: Bench;
  beforeAll(async () => {
    world = await dockerWorld('swarm');
    bench = openBench(world, await world.open());
  });
  afterAll(async () => {
    await bench?.runtime.close();
    await world?.close();
  });

  test('a Swarm is used only if the operator allows it', async () => {
    const options = { ...world.optionsOf(join(world.dataDir, 'other')), swarm: 'refused' as const };
    expect(String(await createDockerRuntime(options).catch((error: unknown) => error))).toContain(
      'SVC_DOCKER_SWARM=trusted-network',
    );
    expect(await checkEngine(options, options.isolation)).toMatchObject({
      ok: false,
      detail: expect.stringContaining('firewall'),
    });
  });

  test('the first builds and apps share their networks when they start at the same time', async () => {
    const engine = createEngine(world.engine.host);
    for (let round = 0; round < 8; round++) {
      const deps = { engine, network: null, installation: crypto.randomUUID() };
      const both = () => (['apps', 'builds'] as const).map((purpose) => ensureNetwork(deps, purpose));
      const used = new Set(await Promise.all(Array.from({ length: 8 }, both).flat()));
      const label = ['--filter', `label=svc.installation=${deps.installation}`];
      const existing = await world.engine.docker('network', 'ls', '--no-trunc', '--quiet', ...label);
      expect(existing.trim().split('\n').sort()).toEqual([...used].sort());
      expect(used.size).toBe(2);
      for (const id of used) await world.engine.docker('network', 'rm', id);
    }
  });

  test('a service has limits, no capabilities and start-first updates', async () => {
    const app = bench.app('web');
    const instance = await app.run();
    const form =
      '{{json .Spec.TaskTemplate.Resources.Limits}} {{json .Spec.TaskTemplate.ContainerSpec.CapabilityDrop}} {{.Spec.UpdateConfig.Order}} {{(index .Spec.EndpointSpec.Ports 0).PublishMode}}';
    const said = await world.engine.docker('service', 'inspect', '--format', form, `svc-${instance.id}`);
    expect(said.trim()).toBe(
      '{"NanoCPUs":1000000000,"MemoryBytes":134217728,"Pids":512} ["ALL"] start-first host',
    );
    // Services cannot connect to each other in it.
    const names = await world.engine.docker(
      'ps',
      '--filter',
      `label=svc.instance=${instance.id}`,
      '--format',
      '{{.Networks}}',
    );
    expect(names.trim()).toBe(`svc-${installationHash('a-test')}-services`);
    expect(await instance.getState()).toEqual({ state: 'running', restarts: 0 });
    await instance.stop();
    expect(app.lines()).toContain('bye');
    expect(await instance.getState()).toEqual({ state: 'gone' });
    expect(await world.engine.docker('service', 'ls', '-q')).toBe('');
    expect(await world.engine.docker('network', 'ls', '-q', '--filter', 'label=svc.instance')).toBe('');
  });

  test('a compose app is a stack, runs no commands and is removed completely', async () => {
    expect(bench.runtime.refusesCommands?.('compose')).toContain('In a Docker Swarm');
    expect(bench.runtime.refusesCommands?.('docker')).toBeNull();
    const app = bench.app('web');
    app.sample.method = 'compose';
    Object.assign(app.sample.plan, { composeFile: 'compose.yaml', startCommand: null });
    // Not by the address of the service itself, which not every kernel supports.
    const side =
      'setInterval(() => fetch("http://tasks.web:8080/").then(() => console.log("from the side"), () => {}), 100)';
    app.sample.files['compose.yaml'] = `services:
  web: { build: ., ports: ["80:8080"], environment: { GREETING: "hello $$HOME" } }
  side: { image: "${world.engine.baseImage}", command: ["node", "-e", '${side}'] }
`;
    app.sample.files.Dockerfile = `FROM ${world.engine.baseImage}\nCOPY app.js /\nCMD ["node", "/app.js"]\n`;
    const instance = await app.start(await app.build());
    expect(await bench.answer(instance.address, '/env')).toContain('GREETING=hello $HOME\n');
    await bench.until(() => app.lines().includes('side | from the side'));
    expect(await instance.getState()).toEqual({ state: 'running', restarts: 0 });
    await instance.stop(1_000);
    expect(await instance.getState()).toEqual({ state: 'gone' });
    expect(await world.engine.docker('stack', 'ls', '--format', '{{.Name}}')).toBe('');
    const left = ['--filter', `label=com.docker.stack.namespace=svc-${instance.id}`, '-q'];
    expect(await world.engine.docker('network', 'ls', ...left)).toBe('');
  });
});
