import { expect, test } from 'bun:test';
import { patientMs } from '../../../../../scripts/patience.ts';
import { createReachable } from './instance-health.ts';
import { startApp } from './testing.ts';

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
