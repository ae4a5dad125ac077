import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { hasDockerEngine } from '../../../../../scripts/docker-engine.ts';
import { portsConformance } from '../ports-testing.ts';
import { type Bench, openBench } from '../testing.ts';
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

  portsConformance('apps as containers', async () => ({ ...world, close: async () => {} }), {
    direct: '0.0.0.0',
    // Containers have none, unless the engine is set up for it.
    hasIpv6: false,
  });

  test('that listen on PORT for themselves only get requests, also from the next server, and leave nothing', async () => {
    const app = bench.app('web');
    app.sample.files['app.js'] =
      `require('node:http').createServer((_, response) => response.end('here')).listen(require('node:process').env.PORT, '127.0.0.1');`;
    const instance = await app.start(await app.build());
    let found = '';
    await bench.until(async () => {
      const now = await instance.getState();
      found = (now.state === 'running' && now.address) || '';
      const isOther = found !== '' && found !== instance.address;
      return isOther && (await bench.answer(found, '/').catch(() => '')) === 'here';
    });
    expect(app.lines('platform').join()).toMatch(
      /listens on PORT \(\d+\), but only for connections from itself/,
    );
    const next = await world.open();
    try {
      const listed = (await next.list()).find(({ instanceId }) => instanceId === instance.id);
      expect([listed?.address, await bench.answer(found, '/')]).toEqual([found, 'here']);
    } finally {
      await next.close();
    }
    const helpers = async () =>
      (await world.engine.docker('ps', '-aq', '--filter', 'label=svc.helper')).trim();
    expect(await helpers()).not.toBe('');
    await instance.stop();
    expect(await helpers()).toBe('');
  });
});
