import { createClient, createSignIn, SignInError, SvcError, type User } from '../src/main.ts';
import type { Database } from './database.ts';

/** The whole of an app: people sign in, and see and change the todos that are theirs. */
const settings = JSON.parse(element('settings').textContent ?? '');
const signIn = createSignIn({
  baseUrl: settings.baseUrl,
  appId: settings.appId,
  redirectUri: `${location.origin}/`,
});
const todos = createClient<Database>({ ...settings, auth: signIn }).table('todos');
type Todo = Database['todos']['Row'];

signIn.onChange((user) => attempt(() => show(user)));
element('sign-in').onclick = () => attempt(() => signIn.signIn());
element('sign-out').onclick = () => attempt(() => signIn.signOut());
element('export').onclick = () => attempt(exportAll);
element('add').onsubmit = (event) => {
  event.preventDefault();
  const field = element<HTMLInputElement>('title');
  attempt(async () => {
    await todos.insert({ title: field.value });
    field.value = '';
    await list();
  });
};
attempt(async () => {
  try {
    await signIn.handleRedirect();
  } finally {
    await show(signIn.getUser());
  }
});

async function show(user: User | null): Promise<void> {
  element('who').textContent = user?.email ?? '';
  element('sign-in').hidden = user !== null;
  element('sign-out').hidden = user === null;
  element('todos').hidden = user === null;
  element('exported').textContent = '';
  if (user) await list();
  else element('list').replaceChildren();
}

async function list(): Promise<void> {
  const { data } = await todos.sort('done', '-created_at').perPage(100).list();
  element('list').replaceChildren(...data.map(item));
}

function item(todo: Todo): HTMLElement {
  const done = Object.assign(document.createElement('input'), { type: 'checkbox', checked: todo.done });
  done.onchange = () => attempt(() => setDone(todo.id, done.checked));
  const remove = Object.assign(document.createElement('button'), { type: 'button', textContent: 'Delete' });
  remove.setAttribute('aria-label', `Delete ${todo.title}`);
  remove.onclick = () =>
    attempt(async () => {
      await todos.delete(todo.id);
      await list();
    });
  const label = document.createElement('label');
  label.append(done, Object.assign(document.createElement('span'), { textContent: todo.title }));
  const line = Object.assign(document.createElement('li'), { className: todo.done ? 'done' : '' });
  line.append(label, remove);
  return line;
}

/** Only what is still as it was read, so that no change of another tab is lost. */
async function setDone(id: string, done: boolean): Promise<void> {
  const { etag } = await todos.get(id);
  await todos.update(id, { done }, { ifMatch: etag });
  await list();
}

async function exportAll(): Promise<void> {
  const lines: string[] = [];
  for await (const { title, done } of todos.select('title', 'done').sort('title').export())
    lines.push(`${JSON.stringify({ title, done })}\n`);
  const link = Object.assign(document.createElement('a'), {
    href: URL.createObjectURL(new Blob(lines, { type: 'application/x-ndjson' })),
    download: 'todos.jsonl',
    textContent: `${lines.length} todos`,
  });
  element('exported').replaceChildren(link);
}

function attempt(work: () => Promise<void>): void {
  element('problem').textContent = '';
  work().catch((error: unknown) => {
    const isExpected = error instanceof SvcError || error instanceof SignInError;
    element('problem').textContent = isExpected ? `${error.message} (${error.code})` : String(error);
  });
}

function element<T extends HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (!found) throw new Error(`The page has no #${id}.`);
  return found as T;
}
