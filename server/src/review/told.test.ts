import { afterAll, beforeAll, expect, test } from 'bun:test';
import { toldIn, whoWasTold } from '../notifications/testing.ts';
import type { SitesCopy } from '../static-sites/testing.ts';
import { type TestDatabase, testDatabase } from '../testing.ts';
import { copyWithReview, reviewWorld } from './testing.ts';

let database: TestDatabase;
let server: SitesCopy;
beforeAll(async () => {
  database = await testDatabase();
  server = await copyWithReview(database);
});
afterAll(async () => {
  await server.stop();
  await database.close();
});

const newWorld = async () => {
  const world = await reviewWorld(database, server);
  return { ...world, told: () => whoWasTold(database.db, world.tenant, world.people) };
};

test('admins are told who asks, also without a word from them; owners who has decided', async () => {
  const { tenant, people, asked, decide } = await newWorld();
  await decide(await asked({ visibility: 'public' }, 'coOwner'), 'approve');
  await decide(await asked({ visibility: 'internet', note: 'for the fair' }, 'coOwner'), 'reject');
  const texts = async (kind: string) =>
    (await toldIn(database.db, tenant, kind)).map(({ text }) => text).filter((_, at) => at % 2 === 0);
  expect(await texts('publication_requested')).toEqual([
    `${people.coOwner.email} asks for it.`,
    `${people.coOwner.email} asks for it.\n\nfor the fair`,
  ]);
  expect(await texts('publication_approved')).toEqual([`${people.admin.email} has approved it.`]);
  expect(await texts('publication_rejected')).toEqual([`${people.admin.email} has rejected it.\n\nno`]);
});

test('who asked is told that another owner has taken it back, or has made the app narrower', async () => {
  const { tenant, people, asked, decide, ofApp, told } = await newWorld();
  await decide(await asked({ visibility: 'public' }, 'coOwner'), 'withdraw', 'owner');
  expect(await told()).toContain('publication_withdrawn: coOwner');
  expect((await toldIn(database.db, tenant, 'publication_withdrawn'))[0]?.text).toContain(people.owner.email);
  await asked({ visibility: 'public' }, 'coOwner');
  await ofApp('POST', '/archive');
  expect(await told()).toContain('publication_withdrawn: coOwner, coOwner');
});

test('nobody is told of what they withdraw themself, and who owns the app no more of nothing', async () => {
  const { people, asked, decide, ofApp, told } = await newWorld();
  await decide(await asked({ visibility: 'public' }, 'coOwner'), 'withdraw', 'coOwner');
  const id = await asked({ visibility: 'public' }, 'coOwner');
  expect((await ofApp('DELETE', `/co-owners/${people.coOwner.userId}`)).status).toBeLessThan(300);
  await decide(id, 'withdraw', 'owner');
  expect((await told()).filter((line) => line.startsWith('publication_withdrawn'))).toEqual([]);
});
