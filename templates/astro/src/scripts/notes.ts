import { type Note, notes, signIn } from '../svc.ts';

/** The page is a file; what is of the person who looks is fetched in the browser, as that person. */
const element = <T extends HTMLElement = HTMLElement>(id: string) => document.getElementById(id) as T;

let lists = 0;

function showUser(): void {
  const user = signIn.getUser();
  element('sign-in').hidden = user !== null;
  element('add').hidden = user === null;
  if (user) element('hint').textContent = `Signed in as ${user.email}.`;
}

async function showNotes(): Promise<void> {
  if (!signIn.getUser()) return;
  const own = ++lists;
  const { data } = await notes.sort('-pinned', '-created_at').perPage(50).list();
  // Answers can arrive out of order: an older list would hide a note that was added since.
  if (own !== lists) return;
  element('list').replaceChildren(...data.map(line));
}

function line(note: Note): HTMLElement {
  const remove = Object.assign(document.createElement('button'), { type: 'button', className: 'quiet', textContent: '✕' });
  remove.setAttribute('aria-label', `Delete ${note.text}`);
  remove.onclick = () => attempt(() => notes.delete(note.id));
  const item = document.createElement('li');
  item.append(Object.assign(document.createElement('span'), { textContent: note.text }), remove);
  return item;
}

function attempt(work: () => Promise<unknown>): void {
  const problem = element('problem');
  problem.hidden = true;
  work()
    .finally(showUser)
    .then(showNotes)
    .catch((error: unknown) => {
      problem.textContent = error instanceof Error ? error.message : String(error);
      problem.hidden = false;
    });
}

element('sign-in').onclick = () => attempt(() => signIn.signIn());
element<HTMLFormElement>('add').onsubmit = (event) => {
  event.preventDefault();
  const form = event.currentTarget as HTMLFormElement;
  attempt(async () => {
    await notes.insert({ text: String(new FormData(form).get('text')) });
    form.reset();
  });
};
attempt(() => signIn.handleRedirect());
