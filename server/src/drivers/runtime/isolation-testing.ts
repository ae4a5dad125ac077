import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdirSync, statfsSync, writeFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import type { RuntimeWorld } from './conformance.ts';
import { type Bench, openBench, type SampleApp, type SampleInstance, serverSecret } from './testing.ts';

export interface IsolationWorld extends RuntimeWorld {
  dataDir: string;
  /** Where an app may listen. */
  listensAt: readonly string[];
  /** Besides the addresses of this machine. */
  targets?(victim: SampleInstance): Promise<{ hosts: string[]; ports: number[] }>;
}

/** Tries each attack and prints those that succeeded, one per line; then `done`. */
const attacker = `
const fs = require('node:fs'), net = require('node:net'), cp = require('node:child_process');
const { env } = require('node:process');
const wins = [];
const win = (name) => wins.push(name);
const tryTo = (name, act) => { try { if (act()) win(name); } catch {} };
const connect = (name, host, port) => new Promise((done) => {
  const socket = net.connect({ host, port, timeout: 1500 }, () => { win(name); socket.destroy(); done(); });
  socket.on('error', done).on('timeout', () => { socket.destroy(); done(); });
});
const { paths, ports, hosts, secret } = JSON.parse(fs.readFileSync(__dirname + '/targets.json', 'utf8'));
(async () => {
  for (const path of paths) tryTo('read ' + path, () => fs.readFileSync(path).length >= 0);
  for (const name of fs.readdirSync('/proc').filter((it) => /^[0-9]+$/.test(it))) {
    tryTo('environment of process ' + name, () => fs.readFileSync('/proc/' + name + '/environ', 'utf8').includes(secret));
    tryTo('files of process ' + name, () => paths.some((path) => fs.existsSync('/proc/' + name + '/root' + path)));
  }
  tryTo('signal to the server', () => process.kill(Number(env.SERVER_PID), 0) && fs.readFileSync('/proc/' + env.SERVER_PID + '/cmdline', 'utf8').includes('bun'));
  const addresses = hosts.flatMap((host) => ports.map((port) => [host, port]));
  for (const host of ['169.254.169.254', '169.254.170.2', '100.100.100.200', '10.255.255.53', '192.168.0.1', '172.17.0.1'])
    for (const port of [80, 53]) addresses.push([host, port]);
  await Promise.all(addresses.map(([host, port]) => connect(host + ':' + port, host, port)));
  for (const tool of ['unshare -Ur true', 'mount -t tmpfs none /tmp', 'chroot / true', 'ip route del unreachable 10.0.0.0/8', 'ip link set lo down', 'dmesg -c'])
    tryTo(tool, () => cp.spawnSync('sh', ['-c', tool]).status === 0);
  for (const name of wins) console.log('won: ' + name);
  console.log('done');
})();
setInterval(() => {}, 1000);
`;

/** What runs is kept from this machine, the platform and other apps, whoever started the server. */
export function isolationConformance(name: string, makeWorld: () => Promise<IsolationWorld>): void {
  describe(name, () => {
    let world: IsolationWorld;
    let bench: Bench;
    let victim: SampleApp;
    let running: SampleInstance;
    const listeners: { stop(now: boolean): Promise<void>; port: number | undefined }[] = [];
    beforeAll(async () => {
      world = await makeWorld();
      bench = openBench(world, await world.open());
      victim = bench.app('web', { OF_THE_VICTIM: serverSecret });
      victim.sample.files['private.txt'] = 'secret';
      running = await victim.run();
      // In place of the platform, the database and other services of this machine.
      for (const hostname of ['127.0.0.1', '0.0.0.0', '::1'])
        listeners.push(Bun.serve({ hostname, port: 0, fetch: () => new Response('reached') }));
    });
    afterAll(async () => {
      await running?.stop();
      await bench?.runtime.close();
      await Promise.all(listeners.map((listener) => listener.stop(true)));
      await world?.close();
    });

    async function targets(): Promise<string> {
      mkdirSync(join(world.dataDir, 'keys'), { recursive: true });
      writeFileSync(join(world.dataDir, 'keys', 'master'), 'secret');
      const runtime = join(world.dataDir, 'runtime');
      const addresses = Object.values(networkInterfaces())
        .flat()
        .flatMap((found) => (found?.family === 'IPv4' ? [found.address] : []));
      const more = await world.targets?.(running);
      return JSON.stringify({
        secret: serverSecret,
        paths: [
          join(world.dataDir, 'keys', 'master'),
          join(runtime, 'run', running.id, 'pid'),
          join(runtime, 'run', running.id, 'home'),
          `/proc/${process.pid}/environ`,
          '/etc/shadow',
          '/root/.npmrc',
          '/var/run/docker.sock',
        ],
        ports: [
          ...listeners.map(({ port }) => port),
          Number(running.address.split(':').at(-1)),
          ...(more?.ports ?? []),
        ],
        hosts: [...new Set(['127.0.0.1', '::1', 'localhost', ...addresses, ...(more?.hosts ?? [])])],
      });
    }

    async function attack(app: SampleApp): Promise<string[]> {
      await bench.until(() => app.lines('stdout').includes('done'));
      return app.lines('stdout').filter((line) => line.startsWith('won: '));
    }

    test('an instance reads nothing of the data dir, other apps or the server, and reaches none of their ports', async () => {
      const app = bench.app('web', { SERVER_PID: String(process.pid) });
      app.sample.files['app.js'] = attacker;
      app.sample.files['targets.json'] = await targets();
      const instance = await app.start(await app.build());
      expect(await attack(app)).toEqual([]);
      await instance.stop();
      expect(await bench.answer(running.address, '/env')).toContain('PORT=');
    });

    test('a build reads nothing of the data dir, other apps or the server, and reaches none of their ports', async () => {
      const app = bench.app('web', { SERVER_PID: String(process.pid) });
      app.sample.files['attack.js'] = attacker.replace(
        "console.log('done');",
        "console.log('done'); process.exit(0);",
      );
      app.sample.files['targets.json'] = await targets();
      app.sample.plan.buildCommand = 'node attack.js';
      await app.build();
      expect(await attack(app)).toEqual([]);
    });

    test('an instance inherits no socket, which would connect outside of its network', async () => {
      const app = bench.app('web');
      app.sample.plan.startCommand = 'ls -l /proc/self/fd; echo done; sleep 100';
      const instance = await app.start(await app.build());
      await bench.until(() => app.lines('stdout').includes('done'));
      expect(app.lines('stdout').filter((line) => / ([3-9]|\d\d+) -> socket/.test(line))).toEqual([]);
      await instance.stop(0);
    });

    test('files in /tmp and /dev/shm are private and end with the instance', async () => {
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

    test('an app may listen at every address that the runtime names', async () => {
      for (const address of world.listensAt) {
        const app = bench.app('web');
        app.sample.files['app.js'] =
          `require('node:http').createServer((_, response) => response.end('here')).listen(require('node:process').env.PORT, '${address}');`;
        const instance = await app.start(await app.build());
        expect(await bench.answer(instance.address, '/')).toBe('here');
        await instance.stop();
      }
    });

    test('a fork bomb ends with its instance, and neighbours go on', async () => {
      const app = bench.app('web');
      app.sample.plan.startCommand = 'f() { f | f & }; f; while :; do sleep 1; done';
      const instance = await app.start(await app.build());
      await bench.until(() => app.lines().some((line) => /fork|resource/i.test(line)));
      expect(await bench.answer(running.address, '/env')).toContain('PORT=');
      await instance.stop(0);
      expect(await instance.getState()).toEqual({ state: 'gone' });
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

    test('an app that fills /dev/shm gets an error, and the machine keeps its memory', async () => {
      const before = statfsSync('/dev/shm').bavail;
      const app = bench.app('web');
      app.sample.plan.startCommand = 'dd if=/dev/zero of=/dev/shm/big bs=1M count=2048; echo full; sleep 100';
      const instance = await app.start(await app.build());
      await bench.until(() => app.lines().some((line) => line === 'full' || /out of memory/i.test(line)));
      const { bsize, bavail } = statfsSync('/dev/shm');
      expect((before - bavail) * bsize).toBeLessThan(1024 ** 3);
      await instance.stop(0);
    });
  });
}
