import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { corpus, greets, json, scaffold, showsText } from './support/corpus.ts';
import { type Files, writeFiles } from './support/server.ts';

const empty = '--ts --app --empty --no-tailwind --no-linter --no-src-dir --import-alias @/*';

const remix: Files = {
  'package.json': json({
    name: 'remix-app',
    private: true,
    sideEffects: false,
    type: 'module',
    scripts: {
      build: 'remix vite:build',
      dev: 'remix vite:dev',
      start: 'remix-serve ./build/server/index.js',
    },
    dependencies: {
      '@remix-run/node': '^2.17.0',
      '@remix-run/react': '^2.17.0',
      '@remix-run/serve': '^2.17.0',
      isbot: '^4.1.0',
      react: '^18.2.0',
      'react-dom': '^18.2.0',
    },
    devDependencies: { '@remix-run/dev': '^2.17.0', typescript: '^5.1.0', vite: '^6.0.0' },
    engines: { node: '>=20.0.0' },
  }),
  'vite.config.ts': `import { vitePlugin as remix } from '@remix-run/dev';
import { defineConfig } from 'vite';

export default defineConfig({ plugins: [remix()] });
`,
  'app/style.css': 'body { font-family: sans-serif }\n',
  'app/root.tsx': `import { Links, Meta, Outlet, Scripts } from '@remix-run/react';
import './style.css';

export default function App() {
  return (
    <html lang="en">
      <head><Meta /><Links /></head>
      <body><Outlet /><Scripts /></body>
    </html>
  );
}
`,
  'app/routes/_index.tsx': `import type { ActionFunctionArgs } from '@remix-run/node';
import { Form, useActionData } from '@remix-run/react';

export async function action({ request }: ActionFunctionArgs) {
  return { text: 'Hello ' + (await request.formData()).get('name') };
}

export default function Home() {
  const answer = useActionData<typeof action>();
  return (
    <Form method="post">
      <h1>A form</h1>
      <label>Name <input name="name" /></label>
      <button>Send</button>
      <p>{answer?.text}</p>
    </Form>
  );
}
`,
  'app/routes/items.$id.tsx': `import { useParams } from '@remix-run/react';

export default function Item() {
  return <h1>Item {useParams().id}</h1>;
}
`,
};

corpus('a framework of React', [
  {
    name: 'create-next-app',
    async source(folder) {
      await scaffold('create-next-app@16', `${empty} --skip-install --disable-git --yes`)(folder);
      writeFiles(folder, formPages);
    },
    home: 'Hello world!',
    deep: ['/items/first', 'The first item'],
    // The action compares the origin of the request with the host that the proxy names.
    check: ({ page, url }) => greets(page, `${url}/form`),
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
      await showsText(page, 'Your most recent post: A first post');
    },
  },
  {
    name: 'Remix',
    source: remix,
    home: 'A form',
    deep: ['/items/7', 'Item 7'],
    check: ({ page, url }) => greets(page, url),
  },
]);

const formPages = {
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

/** Machines that run the tests reach the npm registry only. */
function withoutRemoteFonts(path: string): void {
  const text = readFileSync(path, 'utf8');
  const local = text
    .replace('import { Geist } from "next/font/google";\n', '')
    .replace(/const geist = Geist\(\{[^}]*\}\);/, 'const geist = { className: "", variable: "" };');
  writeFileSync(path, local);
}
