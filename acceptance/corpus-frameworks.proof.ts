import { corpus, greets, json, scaffold, showsText } from './support/corpus.ts';
import type { Files } from './support/server.ts';

const nuxt: Files = {
  'package.json': json({
    name: 'nuxt-app',
    type: 'module',
    private: true,
    scripts: {
      build: 'nuxt build',
      dev: 'nuxt dev',
      generate: 'nuxt generate',
      preview: 'nuxt preview',
      postinstall: 'nuxt prepare',
    },
    dependencies: { nuxt: '^4.5.0', vue: '^3.5.0', 'vue-router': '^5.0.0' },
  }),
  'nuxt.config.ts': `export default defineNuxtConfig({
  compatibilityDate: '2026-01-01',
  devtools: { enabled: true },
});
`,
  'tsconfig.json': json({ files: [], references: [{ path: './.nuxt/tsconfig.app.json' }] }),
  '.gitignore': '.output\n.data\n.nuxt\n.nitro\n.cache\ndist\nnode_modules\n.env\n',
  'app/app.vue': '<template><NuxtPage /></template>\n',
  'app/pages/index.vue': `<script setup lang="ts">
const { data } = await useFetch('/api/greeting');
const clicks = ref(0);
</script>

<template>
  <main>
    <h1>{{ data }}</h1>
    <button @click="clicks++">Clicked {{ clicks }} times</button>
  </main>
</template>

<style scoped>
h1 { color: seagreen }
</style>
`,
  'app/pages/items/[id].vue': '<template><h1>Item {{ $route.params.id }}</h1></template>\n',
  'server/api/greeting.ts': `export default defineEventHandler(() => 'Hello from Nitro');\n`,
};

const reactRouter: Files = {
  'package.json': json({
    name: 'react-router-app',
    private: true,
    type: 'module',
    scripts: {
      build: 'react-router build',
      dev: 'react-router dev',
      start: 'react-router-serve ./build/server/index.js',
      typecheck: 'react-router typegen && tsc',
    },
    dependencies: {
      '@react-router/node': '8.4.0',
      '@react-router/serve': '8.4.0',
      isbot: '^5.2.0',
      react: '^19.3.0',
      'react-dom': '^19.3.0',
      'react-router': '8.4.0',
    },
    devDependencies: { '@react-router/dev': '8.4.0', typescript: '^5.9.0', vite: '^8.0.0' },
  }),
  // The template of create-react-router has one.
  Dockerfile: `FROM node:24-alpine
COPY . /app
WORKDIR /app
RUN npm ci && npm run build
CMD ["npm", "run", "start"]
`,
  '.gitignore': 'node_modules/\n.react-router/\nbuild/\n',
  'react-router.config.ts': 'export default { ssr: true };\n',
  'vite.config.ts': `import { reactRouter } from '@react-router/dev/vite';
import { defineConfig } from 'vite';

export default defineConfig({ plugins: [reactRouter()] });
`,
  'app/app.css': 'body { font-family: sans-serif }\n',
  'app/routes.ts': `import { index, route } from '@react-router/dev/routes';

export default [index('routes/home.tsx'), route('items/:id', 'routes/item.tsx')];
`,
  'app/root.tsx': `import type { ReactNode } from 'react';
import { Links, Meta, Outlet, Scripts, ScrollRestoration } from 'react-router';
import './app.css';

export function Layout({ children }: { children: ReactNode }) {
  return (
    <html lang="en">
      <head><meta charSet="utf-8" /><Meta /><Links /></head>
      <body>{children}<ScrollRestoration /><Scripts /></body>
    </html>
  );
}

export default function App() {
  return <Outlet />;
}
`,
  'app/routes/home.tsx': `import { Form, useActionData } from 'react-router';

export async function action({ request }: { request: Request }) {
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
  'app/routes/item.tsx': `export const loader = ({ params }: { params: { id: string } }) => ({ id: params.id });

export default function Item({ loaderData }: { loaderData: { id: string } }) {
  return <h1>Item {loaderData.id}</h1>;
}
`,
};

/** Pinned: the next release has no package for every machine. */
const astro: Files = {
  'package.json': json({
    name: 'astro-server',
    type: 'module',
    version: '0.0.1',
    scripts: { dev: 'astro dev', build: 'astro build', preview: 'astro preview', astro: 'astro' },
    dependencies: { astro: '7.3.4', '@astrojs/node': '^11.1.0' },
  }),
  'astro.config.mjs': `import node from '@astrojs/node';
import { defineConfig } from 'astro/config';

export default defineConfig({ output: 'server', adapter: node({ mode: 'standalone' }) });
`,
  'tsconfig.json': json({ extends: 'astro/tsconfigs/strict' }),
  'public/picture.svg':
    '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"><rect width="8" height="8"/></svg>\n',
  'src/pages/index.astro': `---
const name = Astro.request.method === 'POST' ? (await Astro.request.formData()).get('name') : null;
---
<html lang="en">
  <head><title>A form</title></head>
  <body>
    <img src="/picture.svg" alt="" />
    <h1>A form</h1>
    <form method="post">
      <label>Name <input name="name" /></label>
      <button>Send</button>
    </form>
    {name && <p>Hello {name}</p>}
  </body>
</html>
`,
  'src/pages/items/[id].astro': '<h1>Item {Astro.params.id}</h1>\n',
};

corpus('a framework that makes pages on a server', [
  {
    name: 'sv create (SvelteKit), pushed with git',
    source: scaffold('sv@0.17 create', '--template demo --types ts --no-add-ons --no-install'),
    home: 'to your new',
    deep: ['/sverdle/how-to-play', 'How to play Sverdle'],
    by: 'push',
    async check({ page, url }) {
      // The server compares the origin of a posted form with its own.
      await page.goto(`${url}/sverdle`);
      await page.waitForLoadState('networkidle');
      for (const letter of 'crane') await page.locator(`button[data-key=${letter}]`).click();
      await page.getByRole('button', { name: 'enter' }).click();
      await page
        .locator('.row:first-of-type .letter.exact, .letter.close, .letter.missing')
        .first()
        .waitFor();
    },
  },
  {
    name: 'Nuxt',
    source: nuxt,
    home: 'Hello from Nitro',
    deep: ['/items/7', 'Item 7'],
    async check({ page, url }) {
      await page.goto(url);
      await page.waitForLoadState('networkidle');
      await page.getByRole('button').click();
      await showsText(page, 'Clicked 1 times');
    },
  },
  {
    name: 'React Router',
    source: reactRouter,
    home: 'A form',
    deep: ['/items/7', 'Item 7'],
    check: ({ page, url }) => greets(page, url),
  },
  {
    name: 'Astro with its Node adapter',
    source: astro,
    home: 'A form',
    deep: ['/items/7', 'Item 7'],
    check: ({ page, url }) => greets(page, url),
  },
]);
