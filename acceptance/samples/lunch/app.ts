import { createClient, createSignIn, SvcError } from '../../../sdk/src/main.ts';

interface Dish {
  id: string;
  dish: string;
  price: number;
}

interface Order {
  id: string;
  person: string;
  dish: string;
  note: string | null;
  created_at: string;
}

type Database = {
  menu: { Row: Dish; Insert: Omit<Dish, 'id'>; Update: Partial<Dish> };
  orders: { Row: Order; Insert: { dish: string }; Update: { note: string } };
};

const settings = JSON.parse(element('settings').textContent ?? '');
const signIn = createSignIn({
  baseUrl: settings.baseUrl,
  appId: settings.appId,
  redirectUri: `${location.origin}/`,
});
const client = createClient<Database>({ ...settings, auth: signIn });
const [menu, orders] = [client.table('menu'), client.table('orders')];

element('sign-in').onclick = () => attempt(() => signIn.signIn());
element('sign-out').onclick = () => attempt(() => signIn.signOut());
signIn.onChange(() => attempt(show));
element('new-dish').onsubmit = (event) => {
  event.preventDefault();
  const [dish, price] = [element<HTMLInputElement>('dish'), element<HTMLInputElement>('price')];
  change(async () => {
    await menu.insert({ dish: dish.value, price: Number(price.value) });
    element<HTMLFormElement>('new-dish').reset();
  });
};

attempt(async () => {
  await signIn.handleRedirect();
  await show();
});

async function show(): Promise<void> {
  const user = signIn.getUser();
  element('who').textContent = user?.email ?? '';
  element('sign-in').hidden = user !== null;
  element('sign-out').hidden = user === null;
  element('main').hidden = user === null;
  if (user) await list();
}

/** The same for everybody: the rules of the tables say who gets which rows. */
async function list(): Promise<void> {
  const [{ data: dishes }, { data: ordered }] = await Promise.all([
    menu.select('id', 'dish', 'price').sort('dish').list(),
    orders.sort('created_at').list(),
  ]);
  const people = await client.people(ordered.map(({ person }) => person));
  element('menu').replaceChildren(
    ...dishes.map((dish) =>
      line(
        `${dish.dish}, ${dish.price}`,
        button(`Order ${dish.dish}`, () => orders.insert({ dish: dish.dish })),
        button(`Remove ${dish.dish}`, () => menu.delete(dish.id)),
      ),
    ),
  );
  element('orders').replaceChildren(
    ...ordered.map((order) => {
      const name = people.get(order.person)?.name ?? 'somebody';
      const note = order.note ? ` (${order.note})` : '';
      return line(
        `${name}: ${order.dish}${note}`,
        button(`No salt for ${name}`, () => orders.update(order.id, { note: 'no salt' })),
        button(`Cancel ${order.dish} of ${name}`, () => orders.delete(order.id)),
      );
    }),
  );
}

function line(text: string, ...buttons: HTMLElement[]): HTMLElement {
  const item = document.createElement('li');
  item.append(Object.assign(document.createElement('span'), { textContent: text }), ...buttons);
  return item;
}

function button(text: string, work: () => Promise<unknown>): HTMLElement {
  const made = Object.assign(document.createElement('button'), { type: 'button', textContent: text });
  made.onclick = () => change(work);
  return made;
}

function change(work: () => Promise<unknown>): void {
  attempt(async () => {
    await work();
    await list();
  });
}

function attempt(work: () => Promise<unknown>): void {
  element('problem').textContent = '';
  work().catch((error: unknown) => {
    element('problem').textContent = error instanceof SvcError ? `Refused: ${error.code}` : String(error);
  });
}

function element<T extends HTMLElement = HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (!found) throw new Error(`The page has no ${id}.`);
  return found as T;
}
