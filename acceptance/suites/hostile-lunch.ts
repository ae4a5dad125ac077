import type { Eater, Lunch } from '../support/lunch.ts';
import { bearer, type Call, caller, tokenThrough } from '../support/people.ts';
import { lines, ndjson } from '../support/rows.ts';

export interface Hostile {
  person: string;
  text: string;
  send(): ReturnType<Call>;
}

interface Row {
  id: string;
  person?: string;
  dish: string;
}

/** Requests with each person's own token through the app, none of which may change or show anything. */
export async function hostileRequests(
  lunch: Lunch,
  { menu, orders }: { menu: readonly Row[]; orders: readonly Row[] },
): Promise<Hostile[]> {
  const { ada, ben, mona, server, tenant, app } = lunch;
  const all: Hostile[] = [];
  for (const person of [ada, ben, mona]) {
    const token = await tokenThrough(server, person, `${tenant.slug}/${app.slug}`);
    const call = caller(server, bearer({ token }));
    const add = (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
      all.push({
        person: person.email,
        text: `${method} ${path} ${JSON.stringify(body ?? '')} ${JSON.stringify(headers ?? '')}`,
        send: () => call(method, path, body, headers),
      });
    const foreign = orders.filter((order) => order.person !== person.id);
    for (const order of foreign) attackRow(add, `${lunch.data}/orders`, order, person);
    attackInserts(add, `${lunch.data}/orders`, foreign);
    if (person !== mona) {
      for (const dish of menu) attackRow(add, `${lunch.data}/menu`, dish, person);
      attackMenu(add, `${lunch.data}/menu`);
    }
    attackSettings(add, app.base, person);
  }
  return all;
}

type Add = (method: string, path: string, body?: unknown, headers?: Record<string, string>) => void;

const merge = { prefer: 'resolution=merge-duplicates' };

function attackRow(add: Add, table: string, row: Row, me: Eater): void {
  const one = `${table}/${row.id}`;
  add('PATCH', one, { dish: 'stolen' });
  add('PATCH', one, { dish: 'stolen' }, { 'if-match': '*' });
  add('PATCH', one, { dish: 'stolen' }, { prefer: 'return=minimal' });
  add('PATCH', `${one}?dry_run=true`, { dish: 'stolen' });
  add('PATCH', one, { id: Bun.randomUUIDv7() });
  if (row.person !== undefined) add('PATCH', one, { person: me.id });
  add('DELETE', one);
  add('DELETE', `${one}?dry_run=true`);
  add('DELETE', one, undefined, { 'if-match': '*' });
  add('POST', table, { id: row.id, dish: 'stolen', price: 0 }, merge);
  add('POST', `${table}?on_conflict=id`, { id: row.id, dish: 'stolen' }, merge);
  add('POST', table, lines([{ id: row.id, dish: 'stolen' }]), { ...ndjson, ...merge });
  add('PUT', one, { dish: 'stolen' });
}

function attackInserts(add: Add, table: string, foreign: readonly Row[]): void {
  for (const { person } of foreign) {
    add('POST', table, { dish: 'poison', person });
    add('POST', table, lines([{ dish: 'fine' }, { dish: 'poison', person }]), ndjson);
    add('POST', `${table}?dry_run=true`, { dish: 'poison', person });
  }
}

function attackMenu(add: Add, table: string): void {
  add('POST', table, { dish: 'free', price: 0 });
  add('POST', table, { dish: 'free', price: 0 }, { prefer: 'return=minimal' });
  add('POST', table, lines([{ dish: 'free', price: 0 }]), ndjson);
  add('POST', `${table}?dry_run=true`, { dish: 'free', price: 0 });
  // What only managers see.
  for (const search of [
    'select=cost',
    'cost=gt.0',
    'sort=cost',
    'or=(cost.gt.0,dish.eq.x)',
    'filter=cost=gt.0',
  ])
    add('GET', `${table}?${search}`);
  add('GET', `${table}/_count?cost=gt.0`);
}

/** A token of the app is for its rows only. */
function attackSettings(add: Add, app: string, me: Eater): void {
  add('POST', `${app}/roles`, { role: 'manager', user: me.id });
  add('PUT', `${app}/tables/menu/access`, { write: ['any'] });
  add('PUT', `${app}/tables/orders/access`, { preset: 'read-write' });
  add('POST', `${app}/schema`, { tables: { menu: { access: 'read-write' } } });
  add('GET', `${app}/schema`);
  add('POST', `${app}/tables`, { name: 'mine' });
  add('DELETE', `${app}/tables/orders`);
  add('DELETE', `${app}/tables/orders/columns/note`);
  add('POST', `${app}/tables/orders/grants`, {
    principal_type: 'user',
    principal_id: me.id,
    actions: ['read', 'write'],
  });
  add('PATCH', app, { data_scopes: ['people:email'] });
}
