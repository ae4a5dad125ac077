import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { lstatSync, mkdirSync, readdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { dirname, join } from 'node:path';
import { runtimeConformance, type SampleName } from '../conformance-testing.ts';
import { portsConformance } from '../ports-testing.ts';
import { type Bench, openBench } from '../testing.ts';
import { agentWorld } from './testing.ts';

runtimeConformance('apps in the agent', async () => agentWorld());
portsConformance('apps in the agent', async () => agentWorld());

const ownerOf = (path: string) => lstatSync(path).uid;

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

  test.if(process.getuid?.() === 0)(
    'gives a server that was taken over no other folder than the source, also if that is replaced by a link',
    async () => {
      const serverUser = { uid: 64_324, gid: 64_324 };
      const own = agentWorld({ serverUser });
      const attacked = openBench(own, await own.open());
      const outside = join(dirname(own.dataDir), 'outside');
      mkdirSync(join(outside, 'etc'), { recursive: true });
      writeFileSync(join(outside, 'etc', 'passwd'), 'root');
      const owners = () => [outside, join(outside, 'etc'), join(outside, 'etc', 'passwd')].map(ownerOf);
      const app = (name: SampleName, folder: string, source = 'etc') => {
        const made = attacked.app(name);
        made.sourceDir = join(own.workDir, folder, source);
        return made;
      };
      // In time, and too late for the first look at the path.
      for (const [name, folder, source] of [
        ['site', 'd', 'etc'],
        ['hanging', 'e', 'etc'],
        ['site', 'f', 'not-there'],
      ] as const) {
        const late = app(name, folder, source);
        late.sample.plan.buildCommand = 'echo begun; sleep 100';
        const building = late.build().catch(() => {});
        await attacked.until(() => late.lines('stdout').includes('begun'));
        renameSync(join(own.workDir, folder), join(own.workDir, `${folder}-before`));
        symlinkSync(outside, join(own.workDir, folder));
        late.abort(new Error('too late'));
        await building;
        expect([owners(), readdirSync(outside)]).toEqual([[0, 0, 0], ['etc']]);
      }
      await expect(app('site', 'd').build()).rejects.toThrow('is not below');
      symlinkSync(join(outside, 'etc'), join(own.workDir, 'etc'));
      const link = attacked.app('site');
      link.sourceDir = join(own.workDir, 'etc');
      await expect(link.build()).rejects.toThrow('is not a folder');
      expect([owners(), readdirSync(join(outside, 'etc')).includes('passwd')]).toEqual([[0, 0, 0], true]);

      const site = attacked.app('site');
      const { filesDir } = await site.build();
      expect(filesDir).toBe(join(site.sourceDir, 'out'));
      expect([site.sourceDir, filesDir ?? '', join(filesDir ?? '', 'index.html')].map(ownerOf)).toEqual(
        Array(3).fill(serverUser.uid),
      );
      await attacked.runtime.close();
      await own.close();
    },
  );

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
