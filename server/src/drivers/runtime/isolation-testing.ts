import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { dirname, join } from 'node:path';
import {
  attacker,
  attackFrom,
  type IsolationWorld,
  listAttacks,
  rightsAttacks,
  shareMemory,
  successes,
} from './attacks-testing.ts';
import { limitTests } from './limits-testing.ts';
import { type Bench, openBench, type SampleApp, type SampleInstance, serverSecret } from './testing.ts';

/** What runs is kept from this machine, the platform and other apps, whoever started the server. */
export function isolationConformance(name: string, makeWorld: () => Promise<IsolationWorld>): void {
  describe(name, () => {
    let world: IsolationWorld;
    let bench: Bench;
    let attacks: Awaited<ReturnType<typeof listAttacks>>;
    let running: SampleInstance;
    let memory: ReturnType<typeof shareMemory>;
    const listeners: { stop(now: boolean): Promise<void>; port: number | undefined }[] = [];
    beforeAll(async () => {
      world = await makeWorld();
      bench = openBench(world, await world.open());
      const victim = bench.app('web', { OF_THE_VICTIM: serverSecret });
      victim.sample.files['private.txt'] = 'secret';
      const built = await victim.build();
      running = await victim.start(built);
      await bench.answer(running.address, '/env');
      // In place of the platform, the database and other services of this machine.
      for (const hostname of ['127.0.0.1', '0.0.0.0', '::1', '::'])
        listeners.push(Bun.serve({ hostname, port: 0, fetch: () => new Response('reached') }));
      const ports = listeners.flatMap(({ port }) => port ?? []);
      memory = shareMemory();
      attacks = await listAttacks(world, {
        victim: { instance: running, built },
        listeners: ports,
        memory,
      });
    });
    afterAll(async () => {
      memory?.remove();
      await running?.stop();
      await bench?.runtime.close();
      await Promise.all(listeners.map((listener) => listener.stop(true)));
      await world?.close();
    });

    function attackingApp(): SampleApp {
      const app = bench.app('web');
      app.sample.files['attack.js'] = attacker;
      app.sample.files['attacks.json'] = JSON.stringify([...attacks, ...rightsAttacks]);
      return app;
    }

    async function expectNoSuccess(app: SampleApp): Promise<void> {
      await bench.until(() => app.lines('stdout').includes('done'));
      expect(successes(app.lines('stdout'))).toEqual([]);
      expect(await bench.answer(running.address, '/env')).toContain('PORT=');
    }

    test.concurrent('outside of a sandbox every attack succeeds, so that the next tests can fail', async () => {
      const folder = join(dirname(world.dataDir), 'attacks');
      const names = new Set<string>();
      for (const enter of world.outside ?? [[]])
        for (const name of await attackFrom(enter, folder, attacks)) names.add(name);
      expect([...names].sort()).toEqual(attacks.map(({ name }) => name).sort());
      const rights = await attackFrom(['unshare', '-Urmn'], folder, rightsAttacks);
      expect(rights).toEqual(rightsAttacks.map(({ name }) => name));
    });

    test.concurrent('an instance reads nothing of the data dir, other apps or the server, and reaches none of their ports', async () => {
      const app = attackingApp();
      app.sample.plan.startCommand = 'node attack.js; sleep 100';
      const instance = await app.start(await app.build());
      await expectNoSuccess(app);
      await instance.stop(0);
    });

    test.concurrent('a build reads nothing of the data dir, other apps or the server, and reaches none of their ports', async () => {
      const app = attackingApp();
      app.sample.plan.buildCommand = 'node attack.js';
      await app.build();
      await expectNoSuccess(app);
    });

    test.concurrent('a one-off command reads nothing of the data dir, other apps or the server, and reaches none of their ports', async () => {
      const app = attackingApp();
      expect(await app.command(await app.build(), 'node attack.js')).toMatchObject({ exitCode: 0 });
      await expectNoSuccess(app);
    });

    test.concurrent('an instance inherits no socket, which would connect outside of its network', async () => {
      const app = bench.app('web');
      app.sample.plan.startCommand = 'ls -l /proc/self/fd; echo done; sleep 100';
      const instance = await app.start(await app.build());
      await bench.until(() => app.lines('stdout').includes('done'));
      expect(app.lines('stdout').filter((line) => / ([3-9]|\d\d+) -> socket/.test(line))).toEqual([]);
      await instance.stop(0);
    });

    test.concurrent('files in /tmp and /dev/shm are private and end with the instance', async () => {
      const app = bench.app('web');
      app.sample.files['app.js'] = `const fs = require('node:fs');
        console.log('found', ...['/tmp', '/dev/shm', '/var/tmp'].map((path) => fs.existsSync(path + '/left')));
        for (const path of ['/tmp', '/dev/shm']) fs.writeFileSync(path + '/left', 'here');
        console.log('done'); setInterval(() => {}, 1000);`;
      const built = await app.build();
      for (let round = 0; round < 2; round++) {
        const instance = await app.start(built);
        await bench.until(() => app.lines('stdout').filter((line) => line === 'done').length === round + 1);
        await instance.stop();
      }
      const found = app.lines('stdout').filter((line) => line.startsWith('found'));
      expect(found).toEqual(['found false false false', 'found false false false']);
    });

    test.concurrent('an app may listen at every address that the runtime names', async () => {
      for (const address of world.listensAt) {
        const app = bench.app('web');
        app.sample.files['app.js'] =
          `require('node:http').createServer((_, response) => response.end('here')).listen(require('node:process').env.PORT, '${address}');`;
        const instance = await app.start(await app.build());
        expect(await bench.answer(instance.address, '/')).toBe('here');
        await instance.stop();
      }
    });

    limitTests(() => ({ bench, running }));

    test('a fork bomb in a build ends with it, and neighbours go on', async () => {
      const app = bench.app('web');
      app.sample.plan.buildCommand = 'f() { f | f & }; f; while :; do sleep 1; done';
      const building = app.build().catch((thrown: unknown) => thrown);
      await bench.until(() => app.lines().some((line) => /fork|resource/i.test(line)));
      expect(await bench.answer(running.address, '/env')).toContain('PORT=');
      app.abort(new Error('not wanted'));
      expect(String(await building)).toContain('not wanted');
      expect(await bench.answer(running.address, '/env')).toContain('PORT=');
      await bench.app('web').build();
    });

    test('a build that takes more memory than builds may have fails and says so, and neighbours go on', async () => {
      const app = bench.app('web');
      app.sample.plan.buildCommand = `node -e 'const all = []; for (;;) all.push(Buffer.alloc(2 ** 26, 1))'`;
      const building = app.build().catch((thrown: unknown) => thrown);
      expect(await bench.answer(running.address, '/env')).toContain('PORT=');
      expect(String(await building)).toMatch(/r[au]n out of memory/);
      expect(await bench.answer(running.address, '/env')).toContain('PORT=');
    });

    test('an app that writes more than its disk space is stopped, its log says so, and neighbours go on', async () => {
      const app = bench.app('web');
      // Less than its memory, because the files of a test may be in memory.
      app.sample.plan.startCommand =
        'ls "$HOME"; [ -e /tmp/seen ] || dd if=/dev/zero of=/tmp/big bs=1M count=100; echo still; sleep 100';
      const instance = await app.start(await app.build());
      const told = 'used more than 64 MiB of disk space';
      await bench.until(() => app.lines('platform').some((line) => line.includes(told)));
      expect(await bench.answer(running.address, '/env')).toContain('PORT=');
      await instance.stop(0);
    });

    test('an app cannot fill the memory of the machine with files, of any size', async () => {
      const app = bench.app('web');
      app.sample.files['fill.sh'] = fillingMemory;
      app.sample.plan.startCommand = 'sh fill.sh; sleep 100';
      const instance = await app.start(await app.build());
      const stored = () => app.lines('stdout').find((line) => line.startsWith('stored'));
      await bench.until(() => stored() !== undefined || app.lines().some((it) => /out of memory/i.test(it)));
      const [, bytes = 0, files = 0] = stored()?.split(' ').map(Number) ?? [];
      const max = world.memoryFilesMax ?? { bytes: 200 * 1024 ** 2, files: 130_000 };
      expect(bytes).toBeLessThan(max.bytes);
      expect(files).toBeLessThan(max.files);
      expect(await bench.answer(running.address, '/env')).toContain('PORT=');
      await instance.stop(0);
    });
  });
}

/** Fills each file system in memory with one large file and many empty ones. The files of a test may be in memory too. */
const fillingMemory = `bytes=0 files=0
while read -r _ folder type _; do
  case $folder in /tmp | "$HOME") continue ;; esac
  [ "$type" = tmpfs ] && mkdir "$folder/fill" && cd "$folder/fill" || continue
  dd if=/dev/zero of=large bs=1M count=150
  seq 60000 | xargs touch
  bytes=$((bytes + $(du -sk . | cut -f1) * 1024)); files=$((files + $(ls | wc -l)))
done 2>/dev/null </proc/mounts
echo "stored $bytes $files"`;
