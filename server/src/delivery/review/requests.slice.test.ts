import { expect, test } from 'bun:test';
import { patientMs } from '../../../../scripts/patience.ts';
import { msUntilRefused } from '../../identity/provider/testing.ts';
import { newReviewEnv, useReviewServer } from './testing.ts';

const shared = useReviewServer();

test('admins can read files of a private app while its publication is pending', async () => {
  const { call, asked, decide } = await newReviewEnv(shared.database, shared.server);
  const { active_release } = (await call('GET', '/site')).body;
  const read = async () =>
    (await call('GET', `/releases/${active_release.id}/file?path=index.html`, undefined, 'admin')).status;
  expect(await read()).toBe(403);
  const request = await asked();
  expect(await read()).toBe(200);
  await decide(request, 'withdraw', 'owner');
  expect(await read()).toBe(403);
});

test('admins can read files that are visible beyond the owners', async () => {
  const world = await newReviewEnv(shared.database, shared.server);
  const { active_release } = (await world.call('GET', '/site')).body;
  const file = `/releases/${active_release.id}/file?path=index.html`;
  const isRead = async () => (await world.call('GET', file, undefined, 'admin')).status === 200;
  const isRefused = async () => !(await isRead());
  // The audience of an app is cached: a change takes effect within a second.
  await world.decide(await world.asked(), 'approve');
  expect(await msUntilRefused([isRefused])).toBeLessThan(patientMs(1_000));
  await world.ofApp('PATCH', '', { visibility: 'private' });
  expect(await msUntilRefused([isRead])).toBeLessThan(patientMs(1_000));
  await world.decide(await world.asked(), 'approve');
  expect(await msUntilRefused([isRefused])).toBeLessThan(patientMs(1_000));
  await world.call('POST', '/site/unpublish');
  expect(await isRead()).toBe(false);
});

test('admins can read files of the staged release, but not of earlier ones', async () => {
  const world = await newReviewEnv(shared.database, shared.server);
  const read = async (id: string) =>
    (await world.call('GET', `/releases/${id}/file?path=index.html`, undefined, 'admin')).status;
  const first = (await world.call('GET', '/site')).body.active_release.id;
  await world.decide(await world.asked(), 'approve');
  await world.call('POST', '/site/staging/enable');
  const next = await world.release({ 'index.html': 'two' });
  expect(await read(next)).toBe(403);
  await world.move(next, 'stage');
  expect(await read(next)).toBe(200);
  await world.move(next, 'promote-request');
  await world.move(next, 'promote-approve', 'admin');
  expect([await read(next), await read(first)]).toEqual([200, 403]);
});
