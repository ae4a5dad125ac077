import { expect, test } from 'bun:test';
import { createReachable } from './reachable.ts';
import { startApp } from './testing.ts';

test('what listens is reachable; what does not, or is no address, is not', async () => {
  const app = startApp(() => new Response());
  const reachable = createReachable({ connectMs: 5_000 });
  expect(await reachable.check(app.address, 'now')).toBe(true);
  expect(await reachable.check('not an address', 'now')).toBe(false);
  await app.server.stop(true);
  // Heard a moment ago, and asked again only by who must know.
  expect(await reachable.check(app.address, 'lately')).toBe(true);
  expect(await reachable.check(app.address, 'now')).toBe(false);
  expect(await reachable.check(app.address, 'lately')).toBe(false);
});

test('an address that does not answer at all is given up in time', async () => {
  const begun = performance.now();
  // Kept for documentation: nobody is there, so a connection is either refused on the way or never made.
  expect(await createReachable({ connectMs: 100 }).check('192.0.2.1:9', 'now')).toBe(false);
  expect(performance.now() - begun).toBeLessThan(2_000);
});
