import { expect, test } from 'bun:test';
import { patientMs } from '../../../../scripts/patience.ts';
import { until } from '../testing.ts';
import { findLiveInstances } from './instances-store.ts';
import { useDeployments } from './testing.ts';

const { database, server, newWorld, nodeApp } = useDeployments();

/** An app that listens only after a delay when it is restarted. */
const slowAgain = `const { existsSync, writeFileSync } = require('fs');
const mark = process.env.HOME + '/ended';
const server = require('http').createServer((request, response) => {
  if (request.url === '/end') { writeFileSync(mark, ''); process.exit(1); }
  response.end('here');
});
setTimeout(() => server.listen(process.env.PORT, '127.0.0.1'), existsSync(mark) ? 2000 : 0);`;

test('requests are not routed to an exited instance until it responds again', async () => {
  const t = await newWorld();
  await t.live(nodeApp('here', { 'server.cjs': slowAgain }));
  const addresses = async () => (await findLiveInstances(database.db, t.app.id))?.addresses ?? [];
  const [address] = await addresses();
  await fetch(`http://${address}/end`).catch(() => {});
  const begun = performance.now();
  await until(addresses, (all) => all.length === 0);
  expect(performance.now() - begun).toBeLessThan(patientMs(2_000));
  await until(addresses, (all) => all.length === 1);
  expect(await t.responseText()).toBe('here');
  // The same instance, and no second one beside it.
  expect(await server.runtime.list()).toHaveLength(1);
});
