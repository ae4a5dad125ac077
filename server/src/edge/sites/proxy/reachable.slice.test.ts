import { expect, test } from 'bun:test';
import { type AddressInfo, createServer } from 'node:net';
import { patientMs } from '../../../../../scripts/patience.ts';
import { createReachable } from './instance-health.ts';
import { startApp, startProxy } from './testing.ts';

test('only an address that accepts connections is reachable', async () => {
  const app = startApp(() => new Response());
  const reachable = createReachable({ connectMs: 5_000 });
  expect(await reachable.check(app.address, 'now')).toBe(true);
  expect(await reachable.check('not an address', 'now')).toBe(false);
  await app.server.stop(true);
  // A recent result is reused unless `now` is requested.
  expect(await reachable.check(app.address, 'lately')).toBe(true);
  expect(await reachable.check(app.address, 'now')).toBe(false);
  expect(await reachable.check(app.address, 'lately')).toBe(false);
});

test('a connection attempt has a timeout', async () => {
  const begun = performance.now();
  // TEST-NET-1 (RFC 5737): a connection is refused or never established.
  expect(await createReachable({ connectMs: 100 }).check('192.0.2.1:9', 'now')).toBe(false);
  expect(performance.now() - begun).toBeLessThan(patientMs(2_000));
});

test('a GET request that waits for a machine that is gone is sent to another instance', async () => {
  const asked = Promise.withResolvers<void>();
  const gone = createServer((socket) => socket.on('error', () => {}).once('data', () => asked.resolve()));
  await new Promise<void>((resolve) => gone.listen(0, '127.0.0.1', resolve));
  const { port } = gone.address() as AddressInfo;
  await using there = startApp(() => new Response('there'));
  await using proxy = startProxy({
    addresses: [`127.0.0.1:${port}`, there.address],
    limits: { lostMs: 100, firstByteMs: 60_000 },
  });
  // Each is asked once: the one that does not answer is the busier one then.
  const answers = [proxy.fetch('/'), proxy.fetch('/')];
  await asked.promise;
  // Its connections stay open.
  gone.close();
  const texts = await Promise.all(answers.map(async (answer) => (await answer).text()));
  expect(texts).toEqual(['there', 'there']);
});
