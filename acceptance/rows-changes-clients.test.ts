import { describe, expect, test } from 'bun:test';
import { useFixture } from '../scripts/use-fixture.ts';
import { createClient } from '../sdk/src/main.ts';
import { isOnCitus } from './support/citus.ts';
import { svcFor } from './support/commands.ts';
import { done } from './support/people.ts';
import { rowsWorld } from './support/rows.ts';
import { until } from './support/until.ts';

interface Item {
  id: string;
  title: string;
  qty: number;
  price: string;
}

const world = useFixture(rowsWorld);

const columns = ['title:text', 'qty:int:0', 'price:decimal(12,2):0'];
const newItems = () => world.table(columns, { changes: true });

/** `cut` ends the connections of the client. */
async function newClient() {
  let connections: AbortController[] = [];
  const client = createClient({
    baseUrl: world.server.baseUrl,
    tenant: world.tenant.slug,
    app: world.app.slug,
    auth: { apiKey: await world.pat(world.owner) },
    fetch: (url, init) => {
      const own = new AbortController();
      connections.push(own);
      return fetch(url, { ...init, signal: AbortSignal.any([own.signal, init.signal!]) });
    },
  });
  const cut = () => {
    for (const each of connections) each.abort();
    connections = [];
  };
  return { client, cut };
}

describe.skipIf(isOnCitus)('live rows of the SDK', () => {
  test('keep an array in the order of sort, also over lost connections', async () => {
    const items = await newItems();
    await items.batch([
      { title: 'b', price: '9.00' },
      { title: 'a', price: '10.50' },
      { title: '😀', price: '9.00' },
      { title: '\uffee', price: '9.00' },
    ]);
    const { client, cut } = await newClient();
    const rows = client
      .table<Item>(items.name)
      .eq('qty', 0)
      .live({ sort: ['-price', 'title'] });
    const seen: string[][] = [];
    rows.on('change', ({ changes }) => seen.push(changes.map(({ event }) => event)));
    await rows.ready;
    const titles = () => rows.rows.map(({ title }) => title).join(' ');
    const expected = async () =>
      (await items.list('?qty=eq.0&sort=-price,title')).map(({ title }) => title).join(' ');
    expect(titles()).toBe(await expected());
    const [{ id }] = await items.list('?title=eq.a');
    await done(items.send('PATCH', `/${id}`, { price: '8.99' }));
    await until('the row moves', async () => titles() === (await expected()));
    cut();
    await items.insert({ title: 'c', price: '100.00' });
    await done(items.send('PATCH', `/${id}`, { qty: 1 }));
    await until('the lost changes arrive', async () => titles() === (await expected()));
    expect(titles().startsWith('c ')).toBe(true);
    expect(seen.flat()).toEqual(['update', 'insert', 'delete']);
    rows.close();
    await until('it is closed', async () => rows.status === 'closed');
  });

  test('can be iterated, and fail for good where there is no feed', async () => {
    const items = await newItems();
    const { client } = await newClient();
    const live = client.table<Item>(items.name).select('title').live();
    const lengths: number[] = [];
    const read = (async () => {
      for await (const { rows } of live) {
        lengths.push(rows.length);
        if (rows.length === 2) live.close();
      }
    })();
    await live.ready;
    await items.insert({ title: 'one' });
    await items.insert({ title: 'two' });
    await read;
    expect([lengths[0], lengths.at(-1)]).toEqual([0, 2]);
    const off = await world.table(columns);
    const failed = client.table(off.name).live();
    expect(await failed.ready.catch(({ code }) => code)).toBe('changes_off');
  });
});

describe.skipIf(isOnCitus)('svc rows watch', () => {
  test('prints rows and changes as lines of JSON, and continues after an id', async () => {
    const items = await newItems();
    await items.insert({ title: 'Tea' });
    const svc = svcFor(world.server, { token: world.owner.token, tenant: world.tenant.slug });
    const run = (...args: string[]) =>
      svc(['rows', 'watch', items.name, '--app', world.app.slug, '--select', 'title', ...args]);
    const first = await run('--snapshot', '--limit', '2');
    expect(first.code).toBe(0);
    const [row, ready] = first.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect([row.event, row.data.title, ready.event]).toEqual(['row', 'Tea', 'ready']);
    await items.insert({ title: 'Cup' });
    const next = await run('--after', ready.id, '--limit', '1');
    expect(JSON.parse(next.stdout)).toMatchObject({ event: 'insert', data: { title: 'Cup' } });
  });
});
