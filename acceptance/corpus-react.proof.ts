import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { corpus, fromPackage, scaffold, submitName, waitForText, withFiles } from './support/corpus.ts';
import type { Files } from './support/server.ts';

const empty = '--ts --app --empty --no-tailwind --no-linter --no-src-dir --import-alias @/*';

const formPages: Files = {
  'app/items/first/page.tsx': `
export default function Item() {
  return <h1>The first item</h1>;
}
`,
  'app/form/page.tsx': `'use client';
import { useActionState } from 'react';
import { greet } from './greet';

export default function Form() {
  const [text, send] = useActionState(greet, '');
  return (
    <form action={send}>
      <label>Name <input name="name" /></label>
      <button>Send</button>
      <p>{text}</p>
    </form>
  );
}
`,
  'app/form/greet.ts': `'use server';
export async function greet(_: string, data: FormData): Promise<string> {
  return 'Hello ' + data.get('name');
}
`,
};

corpus('a framework of React', [
  {
    name: 'create-next-app',
    source: withFiles(
      scaffold('create-next-app@16', `${empty} --skip-install --disable-git --yes`),
      formPages,
    ),
    home: 'Hello world!',
    deep: ['/items/first', 'The first item'],
    // The action compares the origin of the request with the host that the proxy names.
    check: ({ page, url }) => submitName(page, `${url}/form`),
  },
  {
    name: 'create-t3-app with tRPC',
    async source(folder) {
      await scaffold('create-t3-app@7', '--CI --noGit --noInstall --trpc --appRouter')(folder);
      withoutRemoteFonts(join(folder, 'src/app/layout.tsx'));
    },
    home: 'Hello from tRPC',
    deep: ['/api/trpc/post.hello?input=%7B%22json%22%3A%7B%22text%22%3A%22you%22%7D%7D', 'Hello you'],
    async check({ page, url }) {
      await page.goto(url);
      await page.getByPlaceholder('Title').fill('A first post');
      await page.getByRole('button', { name: 'Submit' }).click();
      await waitForText(page, 'Your most recent post: A first post');
    },
  },
  {
    name: 'Remix by remix-starter',
    source: fromPackage('remix-starter@1.0.2'),
    home: 'Remix Awesome Starter',
    deep: ['/content', 'Contents Page!'],
    async check({ page, url }) {
      await page.goto(url);
      await page.waitForLoadState('networkidle');
      await page.getByRole('button').click();
      await page.waitForURL(`${url}/content`);
      await waitForText(page, 'Contents Page!');
    },
  },
]);

/** Machines that run the tests reach the npm registry only. */
function withoutRemoteFonts(path: string): void {
  const text = readFileSync(path, 'utf8');
  const local = text
    .replace('import { Geist } from "next/font/google";\n', '')
    .replace(/const geist = Geist\(\{[^}]*\}\);/, 'const geist = { className: "", variable: "" };');
  writeFileSync(path, local);
}
