import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import { silentLog } from '../../testing.ts';
import { runtimeConformance } from '../conformance.ts';
import { portsConformance } from '../ports-testing.ts';
import type { ProcessRuntime } from '../process/process-runtime.ts';
import { processWorld } from '../process/testing.ts';
import { type Bench, openBench } from '../testing.ts';
import { connectAgent } from './connect-agent.ts';
import { type Agent, serveAgent } from './serve-agent.ts';

/** The runtime is opened once, in the agent; `open` connects to it. */
function agentWorld() {
  const world = processWorld();
  const socketPath = join(world.dataDir, 'agent.sock');
  let agent: Agent | null = null;
  return {
    ...world,
    socketPath,
    whenClosed: 'kept' as const,
    async open() {
      agent ??= await serveAgent({
        runtime: (await world.open()) as ProcessRuntime,
        socketPath,
        workFolder: world.dataDir,
        serverUser: null,
        log: silentLog,
      });
      return connectAgent(socketPath, null);
    },
    async close() {
      await agent?.close();
      await world.close();
    },
  };
}

runtimeConformance('apps in the agent', async () => agentWorld());
portsConformance('apps in the agent', async () => agentWorld());

describe('the agent', () => {
  const world = agentWorld();
  let bench: Bench;
  beforeAll(async () => {
    bench = openBench(world, await world.open());
  });
  afterAll(async () => {
    await bench.runtime.close();
    await world.close();
  });

  test('keeps instances and their lines while no server is connected', async () => {
    const app = bench.app('web');
    app.sample.files['app.js'] = `${app.sample.files['app.js']}
      let at = 0; setInterval(() => console.log('tick ' + ++at), 20);`;
    const instance = await app.run();
    const pid = await bench.answer(instance.address, '/env');
    await bench.runtime.close();
    const seen = app.lines('stdout').length;
    expect(await bench.answer(instance.address, '/env')).toBe(pid);
    bench.runtime = await world.open();
    await bench.runtime.resumeLog?.({ instanceId: instance.id, handle: {} }, app.log);
    await bench.until(() => app.lines('stdout').length > seen + 5);
    const ticks = app.lines('stdout').flatMap((line) => /^tick (\d+)$/.exec(line)?.[1] ?? []);
    expect(ticks.map(Number)).toEqual(ticks.map((_, at) => at + 1));
    await instance.stop();
  });

  test('accepts only its own verbs, with checked arguments', async () => {
    const answer = (text: string) =>
      new Promise<string>((resolve) => {
        let received = '';
        const socket = createConnection(world.socketPath, () => socket.write(`${text}\n`));
        socket.on('data', (chunk) => {
          received += chunk;
          socket.destroy();
        });
        socket.on('close', () => resolve(received));
      });
    for (const hostile of [
      'nonsense',
      '{}',
      JSON.stringify({ request: 1, verb: 'toString', args: {} }),
      JSON.stringify({ request: 1, verb: 'exec', args: { command: 'id' } }),
    ])
      expect(await answer(hostile)).toBe('');
    for (const args of [{ instanceId: '../../etc' }, {}, null])
      expect(await answer(JSON.stringify({ request: 1, verb: 'getState', args }))).toContain('"error"');
  });
});
