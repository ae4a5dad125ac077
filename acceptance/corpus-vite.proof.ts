import { expect } from 'bun:test';
import { corpus, scaffold, waitForText } from './support/corpus.ts';

const vite = (template: string) => scaffold('create-vite@9', `--template ${template} --no-interactive`);

/** Pages that are made in the browser: every path shows the same file. */
corpus('a single-page app of create-vite', [
  {
    name: 'create-vite react-ts',
    source: vite('react-ts'),
    home: 'Get started',
    deep: ['/orders/7', 'Get started'],
    async check({ page, url }) {
      await page.goto(url);
      await page.getByRole('button', { name: /count/i }).click();
      await waitForText(page, 'Count is 1');
      expect((await page.goto(`${url}/favicon.svg`))?.headers()['content-type']).toMatch(/^image\/svg\+xml/);
    },
  },
  {
    name: 'create-vite vue-ts, pushed with git',
    source: vite('vue-ts'),
    home: 'Get started',
    deep: ['/orders/7', 'Get started'],
    by: 'push',
  },
  {
    name: 'create-vite svelte-ts',
    source: vite('svelte-ts'),
    home: 'Get started',
    deep: ['/orders/7', 'Get started'],
  },
]);
