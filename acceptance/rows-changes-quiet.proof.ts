import { expect, test } from 'bun:test';
import { openFeed } from './support/change-feed.ts';
import { bearer } from './support/people.ts';
import { rowsWorld } from './support/rows.ts';
import { until } from './support/until.ts';

test('a change feed without changes has a heartbeat every 15 seconds, from whose position a client resumes', async () => {
  const world = await rowsWorld();
  const table = await world.table(['title:text'], { changes: true });
  const follow = (headers = {}) =>
    openFeed(`${world.server.baseUrl}${table.path}/_changes`, { ...bearer(world.owner), ...headers });
  const feed = await follow();
  await feed.has('ready');
  const heartbeats = () => feed.comments.filter((comment) => comment === 'heartbeat').length;
  const times = [performance.now()];
  for (let count = 1; count <= 2; count++) {
    await until('a heartbeat', async () => heartbeats() >= count, 30_000);
    times.push(performance.now());
  }
  const pauses = times.slice(1).map((time, at) => (time - (times[at] ?? 0)) / 1000);
  // The first one counts from the request, which was sent before the event was seen here.
  expect(pauses[0]).toBeWithin(13, 20);
  expect(pauses[1]).toBeWithin(14, 20);
  const position = feed.lastEventId() ?? '';
  feed.cut();
  await table.insert({ title: 'later' });
  const resumed = await follow({ 'last-event-id': position });
  await resumed.has('ready');
  expect(resumed.events.map(({ event }) => event)).toEqual(['insert', 'ready']);
  resumed.cut();
});
