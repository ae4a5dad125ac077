import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { listenOnSocket } from '../../../identity/provider/provider-socket.ts';
import { socketPath } from '../../database/connect.ts';
import { openDatabase } from '../../database/database.ts';
import { createRawGate } from '../../raw-database/gate.ts';
import { rawGateSettings } from '../../raw-database/raw-databases.ts';
import { silentLog } from '../../testing.ts';
import { agentWorld } from '../agent/testing.ts';
import type { IsolationWorld } from '../attacks-testing.ts';
import { isolationConformance } from '../isolation-testing.ts';
import { hasPeer, mapped, peerAddresses, peerAddresses6, testBesidePeer } from '../network-testing.ts';
import { type Bench, openBench } from '../testing.ts';
import type { Egress } from './network.ts';
import { processWorld } from './testing.ts';

const isRoot = process.getuid?.() === 0;
const file = 'server/src/drivers/runtime/process/isolation.proof.ts';
/** Fewer mean that this file was not found. */
const testsMin = 20;

test.if(!hasPeer && isRoot)(
  'a server of root isolates apps, beside a machine that answers at public, private and metadata addresses',
  async () => {
    const { code, failed, passed } = await testBesidePeer(0, [file]);
    expect([code, failed]).toEqual([0, null]);
    expect(passed).toBeGreaterThanOrEqual(testsMin);
  },
);

async function withEgress(egress: Egress, act: (bench: Bench) => Promise<void>): Promise<void> {
  const world = agentWorld({ isolation: { use: 'required', egress, gatewayPort: null } });
  const bench = openBench(world, await world.open());
  try {
    await act(bench);
  } finally {
    await bench.runtime.close();
    await world.close();
  }
}

const urlOf = (name: keyof typeof peerAddresses) => `http://${peerAddresses[name]}/`;
const mappedUrlOf = (name: keyof typeof peerAddresses) => `http://[${mapped(peerAddresses[name])}]/`;
const names = Object.keys(peerAddresses) as (keyof typeof peerAddresses)[];
const urls6 = Object.values(peerAddresses6).map((address) => `http://[${address}]/`);
const urls = [...names.map(urlOf), ...names.map(mappedUrlOf), ...urls6];
/** At the same time, because most get no answer. */
const asking = `(async () => {
  const all = ${JSON.stringify(urls)};
  const ask = (url) => fetch(url, { signal: AbortSignal.timeout(3000) }).then((answer) => answer.text(), () => null);
  const answers = await Promise.all(all.map(ask));
  for (const [at, url] of all.entries()) if (answers[at] === 'peer') console.log(url);
})();`;

/** With the platform's own database, the gate of raw databases and the socket of sign-ins, in the same data dir. */
async function besidePlatform(world: ReturnType<typeof agentWorld>): Promise<IsolationWorld> {
  const database = await openDatabase({ dataDir: world.dataDir, log: () => {} });
  const path = socketPath({ folder: join(world.dataDir, 'run'), port: 5432 });
  const gate = createRawGate({
    ...rawGateSettings(world.dataDir, silentLog),
    upstream: async () => ({ path }),
  });
  const signIns = await listenOnSocket(world.dataDir, (_, response) => void response.end());
  const port = await gate.port();
  return {
    ...world,
    sockets: [...world.sockets, path, signIns.path],
    targets: async (victim) => ({
      hosts: [],
      appPorts: [],
      ...(await world.targets?.(victim)),
      ports: [port],
    }),
    async close() {
      await Promise.all([signIns.close(), gate.close()]);
      await database.stop();
      await world.close();
    },
  };
}

if (hasPeer) besidePeer();

function besidePeer(): void {
  isolationConformance('apps in the agent', () => besidePlatform(agentWorld()));

  test('outside of a sandbox every address of the peer answers', async () => {
    for (const url of urls) expect([url, await (await fetch(url)).text()]).toEqual([url, 'peer']);
  });

  test.each([
    ['public', ['public']],
    ['all', ['public', 'private', 'home', 'office']],
    ['none', []],
  ] as const)('with SVC_APP_EGRESS=%s an app connects to these addresses only: %p', async (egress, open) => {
    await withEgress(egress, async (bench) => {
      const app = bench.app('web');
      app.sample.files['ask.js'] = asking;
      app.sample.plan.startCommand = 'node ask.js; echo done; sleep 100';
      const built = await app.build();
      const instance = await app.start(built);
      await bench.until(() => app.lines('stdout').includes('done'));
      const expected = [...open.map(urlOf), ...open.map(mappedUrlOf)];
      expect(app.lines('stdout')).toEqual([...expected, 'done']);
      await app.command(built, 'node ask.js');
      expect(app.lines('stdout')).toEqual([...expected, 'done', ...expected]);
      await instance.stop(0);
    });
  });

  test('with SVC_APP_EGRESS=all an app that is reached by IPv6 connects to nothing by it', async () => {
    await withEgress('all', async (bench) => {
      const app = bench.app('web');
      app.sample.files['app.js'] = `require('node:http').createServer(async (_, response) => {
        const reached = [];
        await Promise.all(${JSON.stringify([...urls6, urlOf('private')])}.map((url) =>
          fetch(url, { signal: AbortSignal.timeout(3000) }).then(() => reached.push(url), () => {})));
        response.end(JSON.stringify(reached));
      }).listen(process.env.PORT, '::1');`;
      const instance = await app.start(await app.build());
      let address = '';
      await bench.until(async () => {
        const listed = await bench.runtime.list();
        address = listed.find(({ instanceId }) => instanceId === instance.id)?.address ?? '';
        return address.startsWith('[::1]:');
      });
      expect(JSON.parse(await bench.answer(address, '/'))).toEqual([urlOf('private')]);
      await instance.stop(0);
    });
  });

  test('with SVC_APP_EGRESS=none a build still connects to public addresses, to fetch its packages', async () => {
    await withEgress('none', async (bench) => {
      const app = bench.app('web');
      app.sample.files['ask.js'] = asking;
      app.sample.plan.buildCommand = 'node ask.js';
      await app.build();
      expect(app.lines('stdout')).toEqual([urlOf('public'), mappedUrlOf('public')]);
    });
  });

  test.each([
    ['none', []],
    ['public', ['public']],
  ] as const)(
    'with SVC_APP_EGRESS=%s a service of the platform at a private address is open, and no other port there',
    async (egress, open) => {
      await withEgress(egress, async (bench) => {
        const app = bench.app('web');
        app.services = [urlOf('private')];
        const other = { host: peerAddresses.private, port: 53 };
        app.sample.files['ask.js'] = `${asking}
        const socket = require('node:net').connect(${JSON.stringify({ ...other, timeout: 3000 })}, () => {
          console.log('other port');
          socket.destroy();
        }).on('error', () => {}).on('timeout', () => socket.destroy());`;
        const built = await app.build();
        expect(await (await fetch(`http://${other.host}:${other.port}/`)).text()).toBe('peer');
        expect(await app.command(built, 'node ask.js')).toMatchObject({ exitCode: 0 });
        const expected = [...open, 'private' as const];
        expect(app.lines('stdout')).toEqual([...expected.map(urlOf), ...expected.map(mappedUrlOf)]);
      });
    },
  );

  test('an app reaches its services of the platform, several at one port too', async () => {
    const world = processWorld();
    const bench = openBench(world, await world.open());
    const platform = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: ({ url }) => new Response(new URL(url).pathname),
    });
    const app = bench.app('web');
    app.services = ['/storage', '/keys'].map((path) =>
      new URL(path, platform.url).href.replace('localhost', '127.0.0.1'),
    );
    app.sample.files['app.js'] = `(async () => {
    for (const url of ${JSON.stringify(app.services)}) console.log(await (await fetch(url)).text());
  })(); setInterval(() => {}, 1000);`;
    const instance = await app.start(await app.build());
    await bench.until(() => app.lines('stdout').includes('/keys'));
    expect(app.lines('stdout')).toEqual(['/storage', '/keys']);
    await instance.stop();
    await platform.stop(true);
    await bench.runtime.close();
    await world.close();
  });

  test('an app that hides what it writes is stopped, too', async () => {
    const world = processWorld();
    const bench = openBench(world, await world.open());
    const write = (path: string) => `dd if=/dev/zero of=${path} bs=1M count=100`;
    const tooLong = `cd /tmp; node -e 'const name = "d".repeat(200);
      for (let at = 0; at < 25; at++) { fs.mkdirSync(name); process.chdir(name); }
      fs.writeFileSync("big", Buffer.alloc(1e8));'`;
    const byCommand: Record<string, string> = {
      [`exec 3>/tmp/big; rm /tmp/big; ${write('/dev/fd/3')}`]: 'used more than 64 MiB of disk space',
      [`exec 3>big; rm big; ${write('/dev/fd/3')}`]: 'used more than 64 MiB of disk space',
      [`d=/tmp/$(printf '\\377'); mkdir "$d"; ${write('"$d/big"')}`]: 'used more than 64 MiB of disk space',
      [`mkdir -m 300 /tmp/d; ${write('/tmp/d/big')}`]: isRoot
        ? 'more than 64 MiB'
        : 'cannot be measured (EACCES)',
      [tooLong]: 'cannot be measured (ENAMETOOLONG)',
    };
    await Promise.all(
      Object.entries(byCommand).map(async ([command, told]) => {
        const app = bench.app('web');
        app.sample.plan.startCommand = `${command}; sleep 100`;
        const instance = await app.start(await app.build());
        await bench.until(() => app.lines('platform').length > 0);
        expect([command, app.lines('platform')[0]]).toEqual([command, expect.stringContaining(told)]);
        await instance.stop(0);
      }),
    );
    await bench.runtime.close();
    await world.close();
  });

  test('before the disk is full, the app that holds most of it is stopped', async () => {
    const world = processWorld({ diskReserveMb: 1024 ** 3 });
    const bench = openBench(world, await world.open());
    const small = bench.app('web');
    const running = await small.run();
    const large = bench.app('web');
    large.sample.plan.startCommand = 'dd if=/dev/zero of=/tmp/big bs=1M count=20; sleep 100';
    const instance = await large.start(await large.build());
    await bench.until(() => large.lines('platform').some((line) => line.includes('disk of the machine')));
    expect(await bench.answer(running.address, '/env')).toContain('PORT=');
    expect(small.lines('platform')).toEqual([]);
    for (const each of [instance, running]) await each.stop(0);
    await bench.runtime.close();
    await world.close();
  });
}
