import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type Auth,
  createClient,
  createSignIn,
  type SignIn,
  SignInError,
  SvcError,
} from '../sdk/src/main.ts';
import { TestBrowser } from '../server/src/identity/provider/browser-testing.ts';
import { run, svcFor } from './support/commands.ts';
import type { PasswordUser } from './support/people.ts';
import { root, temporaryFolder } from './support/server.ts';
import { bundleForBrowser, newTodoApp, type TodoApp } from './support/todo-app.ts';
import { until } from './support/until.ts';

interface Todo {
  id: string;
  owner: string;
  title: string;
  done: boolean;
  rank: number | string | null;
  due: string | null;
  created_at: string;
}
interface NewTodo {
  title: string;
  done?: boolean;
  rank?: number | string | bigint | null;
  due?: string | Date | null;
}

let t: TodoApp;
let home: ReturnType<typeof Bun.serve>;
beforeAll(async () => {
  t = await newTodoApp();
  home = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response('the app') });
});
afterAll(() => home.stop(true));

const place = () => ({ baseUrl: t.tenant.server.baseUrl, tenant: t.tenant.slug, app: t.app });
const tableOf = (auth: Auth) =>
  createClient({ ...place(), auth }).table<Todo, NewTodo, Partial<NewTodo>>('todos');
const byLogin = () => tableOf({ token: () => t.owner.token });
const codeOf = (attempt: Promise<unknown>) =>
  attempt.then(
    () => 'done',
    (error: unknown) =>
      error instanceof SvcError || error instanceof SignInError ? error.code : String(error),
  );

/** Signs a person in to the app, by its pages, in a browser of their own. */
async function signInAs(user: PasswordUser, press: 'Allow' | 'Deny' = 'Allow') {
  let address = '';
  const signIn = createSignIn({
    baseUrl: t.tenant.server.baseUrl,
    appId: t.appId,
    redirectUri: `http://localhost:${home.port}/back`,
    navigate: (url) => {
      address = url;
    },
  });
  const browser = new TestBrowser(t.tenant.server.baseUrl);
  const enter = async (): Promise<SignIn> => {
    await signIn.signIn();
    let page = await browser.open(address);
    if (page.html.includes('name="password"'))
      page = await browser.press(page, 'Sign in', { email: user.email, password: user.password });
    if (page.html.includes('wants to sign you in')) page = await browser.press(page, press);
    await signIn.handleRedirect(page.url);
    return signIn;
  };
  return { signIn, browser, enter };
}

describe('a program with a token', () => {
  test('writes and reads rows with every digit', async () => {
    const todos = byLogin();
    const due = new Date('2026-01-31T09:30:00.120Z');
    const { row, etag } = await todos.insert({
      title: 'a "quoted", (odd) \\ one',
      rank: 2n ** 63n - 1n,
      due,
    });
    expect(row).toMatchObject({ owner: t.owner.id, done: false, rank: '9223372036854775807' });
    expect(new Date(row.due ?? '')).toEqual(due);
    expect(await todos.get(row.id)).toEqual({ row, etag });
    expect(await todos.get(row.id, { ifNoneMatch: etag })).toEqual({ row: null, etag });

    const changed = await todos.update(row.id, { done: true }, { ifMatch: etag });
    expect(changed.row.done).toBe(true);
    expect(await codeOf(todos.update(row.id, { done: false }, { ifMatch: etag }))).toBe(
      'precondition_failed',
    );
    const { plan } = await todos.delete(row.id, { dryRun: true });
    expect(plan.operation).toBe('rows.delete');
    await todos.delete(row.id);
    expect(await codeOf(todos.get(row.id))).toBe('not_found');
    expect(await codeOf(todos.delete(row.id))).toBe('not_found');
  });

  test('changes all rows that match, and rows of a batch together', async () => {
    const todos = byLogin();
    const [first, second] = [crypto.randomUUID(), crypto.randomUUID()];
    await todos.insertMany([first, first, second].map((title) => ({ title })));
    const { plan } = await todos.updateMany(['title', 'eq', first], { rank: 7 }, { dryRun: true });
    expect(plan.operation).toBe('rows.updateMany');
    expect(await codeOf(todos.updateMany(['title', 'eq', first], { rank: 7 }, { maxAffected: 1 }))).toBe(
      'max_affected_exceeded',
    );
    const changed = await todos.updateMany(
      ['title', 'eq', first],
      { rank: 7 },
      { ifPlan: plan.fingerprint, returning: 'rows' },
    );
    expect([changed.updated, changed.rows?.map(({ rank }) => rank)]).toEqual([2, [7, 7]]);
    const client = createClient({ ...place(), auth: { token: () => t.owner.token } });
    const { results } = await client.batch([
      { op: 'insert', table: 'todos', as: 'one', values: { title: second, rank: 2n ** 60n } },
      { op: 'update', table: 'todos', id: { $ref: 'one.id' }, values: { done: true } },
    ]);
    expect(results[1]?.row).toMatchObject({ title: second, done: true, rank: String(2n ** 60n) });
    const filter = ['title', 'in', [first, second]] as const;
    expect((await todos.deleteMany(filter, { maxAffected: 4 })).deleted).toBe(4);
  });

  test('filters by every kind of condition', async () => {
    const todos = byLogin();
    const title = (text: string) => `find ${text}`;
    const texts = [
      'plain',
      'a,b',
      '(c)',
      '"d"',
      'e\\f',
      'gt.5',
      '100%',
      'ÄÖ',
      '',
      'x.y:z',
      'not.eq.1',
      '+ &=?#',
    ];
    await todos.insertMany(texts.map((text, at) => ({ title: title(text), rank: at, done: at % 2 === 0 })));
    const mine = todos.startsWith('title', 'find ');
    const titles = async (query: Pick<typeof mine, 'list'>) =>
      (await query.list()).data.map((row) => row.title);
    for (const [at, text] of texts.entries()) {
      expect(await titles(mine.eq('title', title(text)))).toEqual([title(text)]);
      expect(await titles(mine.in('title', [title(text), title('absent')]))).toEqual([title(text)]);
      const inGroup = mine.or([['title', 'eq', title(text)], { and: [['rank', 'gt', 10n ** 12n]] }]);
      expect(await titles(inGroup)).toEqual([title(text)]);
      expect(await titles(mine.contains('title', text).eq('rank', at))).toEqual([title(text)]);
      expect(await mine.not(['title', 'eq', title(text)]).count()).toBe(texts.length - 1);
    }
    expect(await mine.count({ mode: 'capped' })).toBe(texts.length);
    expect(await mine.icontains('title', 'äö').count()).toBe(1);
    expect(await mine.between('rank', 2, 4).count()).toBe(3);
    expect(await mine.is('due', null).is('done', true).count()).toBe(6);
    expect(
      await mine
        .not({
          or: [
            ['rank', 'lt', 3],
            ['rank', 'gte', 5n],
          ],
        })
        .count(),
    ).toBe(2);
    expect(await mine.gte('created_at', new Date(Date.now() - 600_000)).count()).toBe(texts.length);
    expect(await mine.like('title', '%100\\%').count()).toBe(1);
    const selected = await mine.select('title', { place: 'rank' }).sort('-rank').first();
    expect(selected).toEqual({ title: title('+ &=?#'), place: texts.length - 1 });
  });

  test('reads the same rows by pages and by export', async () => {
    const todos = byLogin();
    const count = 450;
    await todos.insertMany(
      Array.from({ length: count }, (_, at) => ({ title: `page ${at}`, rank: at })),
      {
        batchSize: 200,
      },
    );
    const all = todos.startsWith('title', 'page ').sort('-rank');
    const paged: unknown[] = [];
    for await (const row of all.perPage(100).all()) paged.push(row.rank);
    const exported: unknown[] = [];
    for await (const row of all.select('rank').export()) exported.push(row.rank);
    const expected = Array.from({ length: count }, (_, at) => count - 1 - at);
    expect(paged).toEqual(expected);
    expect(exported).toEqual(expected);
    const page = await all.page(2).perPage(200).list();
    expect([page.page, page.perPage, page.hasMore, page.data.length]).toEqual([2, 200, true, 200]);
  });

  test('a refused batch stores nothing and names the line', async () => {
    const todos = byLogin();
    const rows = [{ title: 'b 0' }, { title: 'b 1' }, { title: 'b 2' }, { title: 5 }] as { title: string }[];
    const error = await todos.insertMany(rows, { batchSize: 2 }).catch((caught) => caught);
    expect(error).toMatchObject({
      code: 'validation_failed',
      inserted: 2,
      errors: [{ line: 4, column: 'title' }],
    });
    expect(await todos.startsWith('title', 'b ').count()).toBe(2);
  });

  test('wrong columns, tables and keys are refused with their codes', async () => {
    const todos = byLogin();
    expect(
      await codeOf(
        todos
          .where('title', 'eq', 'x')
          .eq('nothing' as 'title', 'x')
          .list(),
      ),
    ).toBe('unknown_column');
    expect(await codeOf(todos.insert({} as NewTodo))).toBe('validation_failed');
    expect(await codeOf(tableOf({ apiKey: 'svcpat_made-up' }).list())).toBe('unauthenticated');
    const absent = createClient({ ...place(), auth: { token: () => t.owner.token } }).table('absent');
    expect(await codeOf(absent.list())).toBe('not_found');
  });

  test('runs bundled on Node with a personal access token', async () => {
    const pat = await t.owner.call('POST', `${t.tenant.base}/pats`, {
      name: 'sdk',
      actions: ['read', 'write'],
    });
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'sdk.mjs'), await bundleForBrowser('sdk/src/main.ts'));
    const options = { ...place(), auth: { apiKey: pat.body.secret } };
    writeFileSync(
      join(folder, 'run.mjs'),
      `import { createClient } from './sdk.mjs';
       const todos = createClient(${JSON.stringify(options)}).table('todos');
       const { row } = await todos.insert({ title: 'from node', rank: 12345678901234567890n / 2n });
       const titles = [];
       for await (const { title } of todos.eq('id', row.id).export()) titles.push(title);
       console.log(JSON.stringify({ rank: row.rank, titles }));`,
    );
    const ran = await run(['node', join(folder, 'run.mjs')]);
    expect([ran.code, ran.stderr]).toEqual([0, '']);
    expect(ran.json()).toEqual({ rank: '6172839450617283945', titles: ['from node'] });
  });
});

describe('a person signed in through the app', () => {
  test('sees and changes the rows that are theirs, and no others', async () => {
    const [first, second] = [await signInAs(t.owner), await signInAs(t.coOwner)];
    const [mine, theirs] = [tableOf(await first.enter()), tableOf(await second.enter())];
    expect(first.signIn.getUser()).toMatchObject({ id: t.owner.id, email: t.owner.email });
    const { row } = await mine.insert({ title: 'mine alone' });
    expect(row.owner).toBe(t.owner.id);
    expect(await theirs.eq('id', row.id).count()).toBe(0);
    expect(await codeOf(theirs.get(row.id))).toBe('not_found');
    expect(await codeOf(theirs.update(row.id, { done: true }))).toBe('not_found');
    expect(await codeOf(theirs.delete(row.id))).toBe('not_found');
    const exported: string[] = [];
    for await (const { id } of theirs.export()) exported.push(id);
    expect(exported).not.toContain(row.id);
    expect((await mine.update(row.id, { done: true })).row.done).toBe(true);
  });

  test('a token of the app is no login elsewhere', async () => {
    const { enter } = await signInAs(t.owner);
    const token = await (await enter()).getToken();
    for (const path of ['/api/v1/me', `${t.tenant.base}/apps/${t.app}/tables`]) {
      const headers = { authorization: `Bearer ${token}` };
      expect((await fetch(t.tenant.server.baseUrl + path, { headers })).status).toBe(401);
    }
  });

  test('an expired token is renewed automatically; a sign-out ends it everywhere', async () => {
    const { signIn, enter } = await signInAs(t.owner);
    const todos = tableOf(await enter());
    const before = await signIn.getToken();
    const after = await signIn.getToken({ insteadOf: before });
    expect(after).not.toBe(before);
    expect(await codeOf(todos.list())).toBe('done');
    await signIn.signOut();
    expect(signIn.getUser()).toBeNull();
    expect(await codeOf(todos.list())).toBe('unauthenticated');
    await until(
      'the token is refused',
      async () => (await codeOf(tableOf({ token: () => after }).list())) !== 'done',
    );
  });

  test('a person who denies, or has no access to the app, is not signed in', async () => {
    expect(await codeOf((await signInAs(t.owner, 'Deny')).enter())).toBe('access_denied');
    expect(await codeOf((await signInAs(t.member)).enter())).toBe('access_denied');
  });
});

test('svc tables types prints types for the SDK', async () => {
  const env = { SVC_TOKEN: t.owner.token, SVC_TENANT: t.tenant.slug };
  const svc = svcFor(t.tenant.server);
  const ran = await svc(['tables', 'types', '--app', t.app], { env });
  expect([ran.code, ran.stderr]).toEqual([0, '']);
  expect((await svc(['tables', 'types', '--app', t.app, '--json'], { env })).json()).toEqual({
    types: ran.stdout,
  });
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'database.ts'), ran.stdout);
  writeFileSync(
    join(folder, 'use.ts'),
    `import { createClient } from '${join(root, 'sdk/src/main.ts')}';
     import type { Database } from './database.ts';
     const client = createClient<Database>({ baseUrl: '', tenant: '', app: '', auth: { apiKey: '' } });
     export async function use() {
       const todos = client.table('todos');
       const { row } = await todos.insert({ title: 'x', rank: 1n, due: new Date() });
       const rank: number | string | null = row.rank;
       await todos.update(row.id, { done: true, due: null });
       const [first] = (await todos.select('title', { at: 'created_at' }).is('done', true).list()).data;
       const seen: { title: string; at: string } | undefined = first;
       // @ts-expect-error: it has no title
       await todos.insert({ done: true });
       // @ts-expect-error: whose it is stays
       await todos.update(row.id, { owner: '' });
       // @ts-expect-error: there is no such column
       todos.eq('nothing', 1);
       // @ts-expect-error: a text is not compared with a number
       todos.eq('title', 1);
       return [rank, seen];
     }`,
  );
  const tsconfig = {
    extends: join(root, 'tsconfig.json'),
    include: [folder],
    compilerOptions: { typeRoots: [join(root, 'node_modules/@types')] },
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(tsconfig));
  const checked = await run([join(root, 'node_modules/.bin/tsc'), '--noEmit', '-p', folder]);
  expect([checked.code, checked.stdout]).toEqual([0, '']);
});
