import { describe, expect, test } from 'bun:test';
import { useFixture } from '../scripts/use-fixture.ts';
import { createClient } from '../sdk/src/main.ts';
import { hostileRequests } from './suites/hostile-lunch.ts';
import { type Eater, newLunch } from './support/lunch.ts';
import { done, tokenThrough } from './support/people.ts';

const lunch = useFixture(newLunch);

/** What the app uses, as this person. */
async function clientOf(person: Eater) {
  const { server, tenant, app } = lunch;
  const token = await tokenThrough(server, person, `${tenant.slug}/${app.slug}`);
  return createClient({
    baseUrl: server.baseUrl,
    tenant: tenant.slug,
    app: app.slug,
    auth: { token: () => token },
  });
}

const rowsOf = async (table: string) =>
  (await done(lunch.owner.call('GET', `${lunch.data}/${table}?sort=id`))).data;

/** Everything that the hostile requests might change. */
const everything = async () => ({
  menu: await rowsOf('menu'),
  orders: await rowsOf('orders'),
  schema: await done(lunch.owner.call('GET', `${lunch.app.base}/schema`)),
  roles: await done(lunch.owner.call('GET', `${lunch.app.base}/roles`)),
  app: await done(lunch.owner.call('GET', lunch.app.base)),
});

describe('lunch', () => {
  test('a deployment creates the tables of svc.yaml with their rules', async () => {
    const before = await done(lunch.owner.call('GET', `${lunch.app.base}/schema`));
    expect(before).toMatchObject({
      roles: ['manager'],
      tables: {
        menu: {
          access: { read: ['any'], insert: ['role:manager'], columns: { cost: { read: ['role:manager'] } } },
        },
        orders: { owner_column: 'person', access: { read: ['own', 'role:manager'], delete: ['own'] } },
      },
    });
  });

  test('everybody reads the menu, people have their own orders, and a manager sees all with names', async () => {
    const [ada, ben, mona] = await Promise.all([lunch.ada, lunch.ben, lunch.mona].map(clientOf));
    await mona!.table('menu').insert({ dish: 'soup', price: 5, cost: 2 });
    await mona!.table('menu').insert({ dish: 'cake', price: 3, cost: 1 });
    const { data: menu } = await ada!.table('menu').sort('dish').list();
    expect(menu.map(({ dish, cost }) => [dish, cost])).toEqual([
      ['cake', undefined],
      ['soup', undefined],
    ]);
    for (const [eater, dish] of [
      [ada!, 'soup'],
      [ben!, 'cake'],
    ] as const)
      await eater.table('orders').insert({ dish });
    const { data: own } = await ada!.table('orders').list();
    expect(own.map(({ dish, person }) => [dish, person])).toEqual([['soup', lunch.ada.id]]);
    await ada!.table('orders').update(own[0]!.id, { note: 'no salt' });
    const { data: all } = await mona!.table('orders').sort('dish').list();
    const people = await mona!.people(all.map(({ person }) => person));
    expect(all.map(({ dish, person, note }) => [dish, people.get(person)?.name, note])).toEqual([
      ['cake', 'Ben Example', null],
      ['soup', 'Ada Example', 'no salt'],
    ]);
    expect((await ada!.people([lunch.ben.id, lunch.mona.id])).size).toBe(0);

    for (const eater of [ada!, ben!, mona!])
      for (const dish of ['tea', 'bread', 'cake']) await eater.table('orders').insert({ dish });
    for (const table of ['menu', 'orders']) {
      const features = { changes: true, history: '30d', soft_delete: '30d' };
      await done(lunch.owner.call('PATCH', `${lunch.app.base}/tables/${table}`, features));
    }
    // 200 requests and more with each person's own token, and nothing has changed.
    const before = await everything();
    const requests = await hostileRequests(lunch, before);
    for (const { email } of [lunch.ada, lunch.ben, lunch.mona])
      expect(requests.filter(({ person }) => person === email).length).toBeGreaterThanOrEqual(200);
    const accepted: string[] = [];
    for (let at = 0; at < requests.length; at += 20)
      await Promise.all(
        requests.slice(at, at + 20).map(async ({ person, text, send, isIdle }) => {
          const { status, body } = await send();
          const isRefused = status >= 400 && status < 500 && status !== 429;
          if (!isRefused && !(status < 300 && isIdle?.(body)))
            accepted.push(`${person} ${text}: ${status} ${JSON.stringify(body).slice(0, 200)}`);
        }),
      );
    expect(accepted).toEqual([]);
    expect(await everything()).toEqual(before);
    console.log(`lunch: ${requests.length} hostile requests, all refused`);
  });
});
