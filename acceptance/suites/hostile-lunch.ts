import type { Eater, Lunch } from '../support/lunch.ts';
import { bearer, type Call, caller, tokenThrough } from '../support/people.ts';
import { lines, ndjson } from '../support/rows.ts';

export interface Hostile {
  person: string;
  text: string;
  send(): ReturnType<Call>;
  /** An answer that is no refusal, and says that nothing was changed. */
  isIdle?: ((body: unknown) => boolean) | undefined;
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
    const add: Add = (method, path, body, headers, isIdle) =>
      all.push({
        isIdle,
        person: person.email,
        text: `${method} ${path} ${JSON.stringify(body ?? '')} ${JSON.stringify(headers ?? '')}`,
        send: () => call(method, path, body, headers),
      });
    const foreign = orders.filter((order) => order.person !== person.id);
    for (const order of foreign) attackRow(add, `${lunch.data}/orders`, order, person);
    attackInserts(add, `${lunch.data}/orders`, foreign);
    attackTogether(add, lunch.data, 'orders', foreign[0]!);
    for (const order of foreign) if (person !== mona) add('GET', `${lunch.data}/orders/${order.id}/_history`);
    if (person !== mona) {
      for (const dish of menu) attackRow(add, `${lunch.data}/menu`, dish, person);
      attackMenu(add, `${lunch.data}/menu`);
      attackTogether(add, lunch.data, 'menu', menu[0]!);
    }
    attackSettings(add, app.base, person);
  }
  return all;
}

type Add = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
  isIdle?: Hostile['isIdle'],
) => void;

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
  add('POST', `${one}/_restore`);
  add('POST', `${one}/_restore?dry_run=true`);
  // By a filter only rows are changed that may be.
  const byFilter = `${table}?id=eq.${row.id}&max_affected=100`;
  add('PATCH', byFilter, { dish: 'stolen' }, undefined, isNoRow);
  add('PATCH', `${byFilter}&dry_run=true`, { dish: 'stolen' }, undefined, isNoRow);
  add('DELETE', byFilter, undefined, undefined, isNoRow);
  add('DELETE', `${byFilter}&dry_run=true`, undefined, undefined, isNoRow);
}

/** The answer, or the plan, of a change of no row. */
const isNoRow = (body: unknown) =>
  /"(?:updated|deleted)":0,|"affected","before":null,"after":0,/.test(JSON.stringify(body));

/** Several changes in one request, of which one is refused. */
function attackTogether(add: Add, data: string, table: string, { id }: Row): void {
  const values = { dish: 'stolen', ...(table === 'menu' && { price: 0 }) };
  const fine = { op: 'insert', table: 'orders', values: { dish: 'fine' } };
  for (const one of [
    { op: 'update', table, id, values: { dish: 'stolen' } },
    { op: 'delete', table, id },
    { op: 'upsert', table, values: { id, ...values } },
  ])
    for (const operations of [[one], [fine, one], [one, fine]]) {
      add('POST', `${data}/_batch`, { operations });
      add('POST', `${data}/_batch?dry_run=true`, { operations });
    }
  // Neither is there for a row that is not theirs, nor without a row.
  add('POST', `${data}/${table}/${Bun.randomUUIDv7()}/_restore`);
  add('GET', `${data}/${table}/${Bun.randomUUIDv7()}/_history`);
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
    'distinct=cost',
    'search=cost&select=cost',
  ])
    add('GET', `${table}?${search}`);
  for (const search of [
    '_count?cost=gt.0',
    '_count?distinct=cost',
    '_aggregate?select=cost.sum()',
    '_aggregate?select=cost,n:count()',
    '_aggregate?select=n:count()&cost=gt.0',
    '_aggregate?select=m:price.max()&having=cost.gt.0',
    '_changes?select=cost',
    '_changes?cost=gt.0',
    '_changes?select=cost&snapshot=true',
  ])
    add('GET', `${table}/${search}`);
  add('PATCH', `${table}?cost=gt.0`, { price: 0 });
  add('DELETE', `${table}?cost=gt.0`);
  add('PATCH', `${table}?price=gt.0&max_affected=100`, { price: 0 });
  add('DELETE', `${table}?price=gt.0&max_affected=100`);
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
