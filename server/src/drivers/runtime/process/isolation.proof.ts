import { expect, test } from 'bun:test';
import { agentWorld } from '../agent/testing.ts';
import { isolationConformance } from '../isolation-testing.ts';
import { hasPeer, peerAddresses, testBesidePeer } from '../network-testing.ts';
import { type Bench, openBench } from '../testing.ts';
import type { Egress } from './network.ts';
import { processWorld } from './testing.ts';

const file = 'server/src/drivers/runtime/process/isolation.proof.ts';
/** Fewer mean that this file was not found. */
const testsMin = 19;

test.if(!hasPeer && process.getuid?.() === 0)(
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

const urls = Object.values(peerAddresses).map((address) => `http://${address}/`);
const urlOf = (name: keyof typeof peerAddresses) => `http://${peerAddresses[name]}/`;
const asking = `(async () => {
  for (const url of ${JSON.stringify(urls)})
    if (await fetch(url, { signal: AbortSignal.timeout(3000) }).then((answer) => answer.text(), () => null) === 'peer') console.log(url);
})();`;

if (hasPeer) besidePeer();

function besidePeer(): void {
  isolationConformance('apps in the agent', async () => agentWorld());

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
      const expected = open.map(urlOf);
      expect(app.lines('stdout')).toEqual([...expected, 'done']);
      await app.command(built, 'node ask.js');
      expect(app.lines('stdout')).toEqual([...expected, 'done', ...expected]);
      await instance.stop(0);
    });
  });

  test('with SVC_APP_EGRESS=none a build still connects to public addresses, to fetch its packages', async () => {
    await withEgress('none', async (bench) => {
      const app = bench.app('web');
      app.sample.files['ask.js'] = asking;
      app.sample.plan.buildCommand = 'node ask.js';
      await app.build();
      expect(app.lines('stdout')).toEqual([urlOf('public')]);
    });
  });

  test('a service of the platform at a private address stays open with SVC_APP_EGRESS=none, and it alone', async () => {
    await withEgress('none', async (bench) => {
      const app = bench.app('web');
      app.services = [urlOf('private')];
      app.sample.files['ask.js'] = asking;
      const built = await app.build();
      expect(await app.command(built, 'node ask.js')).toMatchObject({ exitCode: 0 });
      expect(app.lines('stdout')).toEqual([urlOf('private')]);
    });
  });

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
