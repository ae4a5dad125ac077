import { expect } from 'bun:test';
import { isOnCitus } from '../support/citus.ts';
import type { GovernedWorld } from '../support/governed.ts';
import { type Call, caller, done } from '../support/people.ts';
import type { TestTable } from '../support/rows.ts';

export type Name = 'customers' | 'orders' | 'notes';
export const names: readonly Name[] = ['customers', 'orders', 'notes'];

export interface Surface {
  name: string;
  tables: Record<Name, TestTable>;
  /** A table that refers to the others, and that the person does not see. */
  vault: TestTable;
  send: Record<Name, Call>;
  /** On the app. */
  batch: Call;
  /** Of the person. */
  credential: Record<string, string>;
  changeHidden(): Promise<void>;
}

export const visible = Array.from({ length: 12 }, (_, at) => at + 1);
/** In the first world, in the second, and in none. */
export const hiddenIds = [101, 102, 103, 201, 202, 901];

export const hiddenColumns: Record<Name, readonly string[]> = {
  customers: ['secret', 'updated_at'],
  orders: ['secret', 'shadow', 'scan', 'updated_at'],
  notes: ['secret', 'other_order', 'updated_at'],
};
const filters: Record<Name, string> = {
  customers: 'region=eq.eu',
  orders: 'no=lt.100',
  notes: 'place=eq.public',
};

/** Three tables that refer to each other, for a person with rules, or with grants if they are the grantee. */
export async function newLeakSurface(
  world: GovernedWorld,
  name: string,
  credential: Record<string, string>,
  grantee: string | null,
): Promise<Surface> {
  const accessOf = (table: Name) => {
    const nobody = { read: ['none'], write: ['none'] };
    const closed = { read: ['none'], insert: ['none'], update: ['none'], delete: ['none'] };
    const where = [filters[table]];
    const columns = Object.fromEntries(hiddenColumns[table].map((column) => [column, nobody]));
    return grantee ? closed : { read: where, insert: where, update: where, delete: where, columns };
  };
  const logged = isOnCitus ? {} : { history: '30d', soft_delete: '30d', changes: true };
  const fileType = isOnCitus ? 'jsonb' : 'file';
  const make = async (table: Name, columns: string[]) => {
    const made = await world.table(columns, { access: accessOf(table), ...logged });
    if (!grantee) return made;
    const path = world.pathOf(made);
    const masks = table === 'customers' ? [{ column: 'email', kind: 'email' }] : [];
    const columnsOf = { mode: 'deny', names: hiddenColumns[table] };
    const policy = await world.policy(path, { row_filter: filters[table], columns: columnsOf, masks });
    const preset = await world.preset('read', 'export', 'insert', 'update', 'delete');
    await world.grant({ id: grantee }, path, { preset_id: preset, policy_ids: [policy] });
    return made;
  };
  const customers = await make('customers', [
    'id:int',
    'region:text',
    'name:text',
    'email:text',
    'secret:text:nullable',
  ]);
  const closed = { read: ['none'], insert: ['none'], update: ['none'], delete: ['none'] };
  const vault = await world.table(['id:int', `customer:ref:${customers.name}:nullable`, 'text:text'], {
    access: closed,
  });
  const orders = await make('orders', [
    'id:int',
    'no:int',
    'title:text',
    'secret:text:nullable',
    `photo:${fileType}:nullable`,
    `scan:${fileType}:nullable`,
    `customer:ref:${customers.name}:nullable`,
    `agent:ref:${customers.name}:nullable`,
    `shadow:ref:${vault.name}:nullable`,
  ]);
  const notes = await make('notes', [
    'id:int',
    'place:text',
    'text:text',
    'secret:text:nullable',
    `order_id:ref:${orders.name}:nullable`,
    `other_order:ref:${orders.name}:nullable`,
  ]);
  const index = { search: { title: 'B', secret: 'A' }, language: 'english' };
  await done(orders.shape('POST', '/indexes', index));
  const words = { search: { name: 'B', email: 'A', secret: 'A' } };
  await done(customers.shape('POST', '/indexes', words));
  const tables = { customers, orders, notes };
  const scan = await uploaded(orders, 'scan');
  const photo = await uploaded(orders, 'photo');
  const customer = (id: number, w: 1 | 2) => ({
    region: id > 100 ? (w === 1 ? 'us' : 'asia') : 'eu',
    name: id > 100 ? (w === 1 ? `ada ${id}` : `zoe pear ${id}`) : `ada ${id % 4}`,
    email: grantee && w === 2 ? `a-other-${id}@example.com` : `a${id}@example.com`,
    secret: w === 1 ? `pear s${id}` : `plum ${id % 3}`,
  });
  // Their customers are visible, hidden in both worlds, or none.
  const refs = (id: number) => ({
    customer: [id, 101, 102, null][id % 4] ?? null,
    agent: [103, ((id + 3) % 12) + 1, null][id % 3] ?? null,
  });
  const order = (id: number, w: 1 | 2) => ({
    no: id > 100 ? id * (w === 1 ? 10 : 20) : id,
    title: id > 100 ? (w === 1 ? 'apple secret' : 'plum order pear') : `order ${id % 2 ? 'apple' : 'pear'}`,
    secret: w === 1 ? `apple apple ${id}` : 'plum',
    ...refs(id > 100 ? id - 100 : id),
    scan: w === 1 ? scan : null,
    shadow: w === 1 ? 1 : null,
  });
  const note = (id: number, w: 1 | 2) => ({
    place: id > 100 ? 'private' : 'public',
    text: id > 100 ? (w === 1 ? 'apple' : 'zoe') : `note ${id % 3}`,
    secret: w === 1 ? 'pear' : null,
    order_id: id > 100 ? (w === 1 ? (id % 12) + 1 : 3) : (id % 6) + 1,
    other_order: w === 1 ? (id % 5) + 1 : null,
  });
  for (const id of [...visible, 101, 102, 103]) await customers.insert({ id, ...customer(id, 1) });
  await vault.insert({ id: 1, text: 'apple', customer: 3 });
  for (const id of [...visible, 101, 102, 103])
    await orders.insert({ id, ...order(id, 1), ...(id % 2 ? { photo } : {}) });
  for (const id of [...visible, 101, 102, 103]) await notes.insert({ id, ...note(id, 1) });
  // Deleted rows, of which one was visible.
  for (const [at, id] of [21, 121].entries()) {
    await notes.insert({ ...note(id, 1), id, place: at === 0 ? 'public' : 'private' });
    await done(notes.send('DELETE', `/${id}`));
  }
  const path = (table: Name) => world.as(credential, tables[table]);
  return {
    name,
    tables,
    vault,
    send: { customers: path('customers'), orders: path('orders'), notes: path('notes') },
    batch: caller(world.server, credential, world.data),
    credential,
    async changeHidden() {
      for (const id of [101, 102, 103]) await done(notes.send('DELETE', `/${id}`));
      for (const id of [...visible, 101, 102, 103]) await done(orders.send('PATCH', `/${id}`, order(id, 2)));
      for (const id of [...visible, 101, 102, 103])
        await done(customers.send('PATCH', `/${id}`, customer(id, 2)));
      for (const id of visible) await done(notes.send('PATCH', `/${id}`, note(id, 2)));
      for (const id of [201, 202]) await notes.insert({ id, ...note(id, 2) });
      await done(orders.send('DELETE', '/103'));
      await customers.insert({ id: 201, ...customer(201, 2) });
      await orders.insert({ id: 201, ...order(201, 2) });
      await done(vault.send('DELETE', '/1'));
    },
  };
}

async function uploaded(table: TestTable, column: string): Promise<string> {
  if (isOnCitus) return 'a file';
  const given = { column, name: 'a.txt', type: 'text/plain', size: 3 };
  const { file, put_url, headers } = await done(table.send('POST', '/_files', given));
  expect((await fetch(put_url, { method: 'PUT', headers, body: 'abc' })).status).toBe(201);
  return file.id;
}
