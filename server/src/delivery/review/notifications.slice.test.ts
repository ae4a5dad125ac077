import { expect, test } from 'bun:test';
import { describeSent, listSent } from '../../apps/notifications/testing.ts';
import { newReviewEnv, useReviewServer } from './testing.ts';

const shared = useReviewServer();

const newWorld = async () => {
  const world = await newReviewEnv(shared.database, shared.server);
  return { ...world, listNotifications: () => describeSent(shared.database.db, world.tenant, world.people) };
};

test('admins and other owners are notified of a request, even without a note, and owners of the decision', async () => {
  const { tenant, people, asked, decide } = await newWorld();
  await decide(await asked({ visibility: 'public' }, 'coOwner'), 'approve');
  await decide(await asked({ visibility: 'internet', note: 'for the fair' }, 'coOwner'), 'reject');
  const texts = async (kind: string) => [
    ...new Set((await listSent(shared.database.db, tenant, kind)).map(({ text }) => text)),
  ];
  expect(await texts('publication_requested')).toEqual([
    `${people.coOwner.email} requested it.`,
    `${people.coOwner.email} requested it.\n\nfor the fair`,
  ]);
  expect(await texts('publication_approved')).toEqual([`${people.admin.email} approved it.`]);
  expect(await texts('publication_rejected')).toEqual([`${people.admin.email} rejected it.\n\nno`]);
});

test('the requester is notified if another owner withdraws the request or makes the app less visible', async () => {
  const { tenant, people, asked, decide, ofApp, listNotifications } = await newWorld();
  await decide(await asked({ visibility: 'public' }, 'coOwner'), 'withdraw', 'owner');
  expect(await listNotifications()).toContain('publication_withdrawn: coOwner');
  expect((await listSent(shared.database.db, tenant, 'publication_withdrawn'))[0]?.text).toContain(
    people.owner.email,
  );
  await asked({ visibility: 'public' }, 'coOwner');
  await ofApp('POST', '/archive');
  expect(await listNotifications()).toContain('publication_withdrawn: coOwner, coOwner');
});

test('nobody is notified of their own withdrawal, and former owners of nothing', async () => {
  const { people, asked, decide, ofApp, listNotifications } = await newWorld();
  await decide(await asked({ visibility: 'public' }, 'coOwner'), 'withdraw', 'coOwner');
  const id = await asked({ visibility: 'public' }, 'coOwner');
  expect((await ofApp('DELETE', `/co-owners/${people.coOwner.userId}`)).status).toBeLessThan(300);
  await decide(id, 'withdraw', 'owner');
  expect((await listNotifications()).filter((line) => line.startsWith('publication_withdrawn'))).toEqual([]);
});
