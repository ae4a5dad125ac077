import { expect } from 'bun:test';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { corpus, json, runOrThrow, scaffold, waitForText } from './support/corpus.ts';
import { writeFiles } from './support/server.ts';

/** As `vitepress init` does, which asks at a terminal. */
async function vitepress(folder: string): Promise<void> {
  mkdirSync(folder);
  await runOrThrow(['npm', 'install', '--save-dev', '--no-package-lock', 'vitepress@1'], folder);
  const answers = `{ root: './docs', theme: ScaffoldThemeType.Default, useTs: true, injectNpmScripts: true }`;
  const script = `import { scaffold, ScaffoldThemeType } from 'vitepress'; scaffold(${answers});`;
  await runOrThrow(['node', '--input-type=module', '--eval', script], folder);
  rmSync(join(folder, 'node_modules'), { recursive: true });
}

const catPage = `---
title: Tom
---
<link rel="stylesheet" href="/css/style.css">
<img src="/img/logo.png" alt="">
<h1>This is {{ title }}</h1>
`;

corpus('a site generator', [
  {
    name: 'Astro by create-astro-app',
    source: scaffold('create-astro-app@1', '--template ts-portfolio'),
    home: 'Selected Work',
    deep: ['/project/mars-rover/', 'Perseverance Rover'],
  },
  {
    name: 'create-docusaurus',
    async source(folder) {
      await scaffold('create-docusaurus@3', 'classic --javascript --skip-install')(folder);
      // Mirrors of the registry can lack a version that the theme requires exactly, or one for this machine.
      const path = join(folder, 'package.json');
      const found = JSON.parse(readFileSync(path, 'utf8'));
      writeFileSync(
        path,
        json({ ...found, overrides: { '@docsearch/react': '3.9.0', '@swc/html': '1.16.2' } }),
      );
    },
    home: 'Dinosaurs are cool',
    deep: ['/docs/tutorial-basics/create-a-page', 'Create a Page'],
    async check({ page, url }) {
      await page.goto(`${url}/docs/intro`);
      await page.getByRole('link', { name: 'Blog', exact: true }).first().click();
      await page.waitForURL(`${url}/blog`);
      await waitForText(page, 'Welcome');
    },
  },
  {
    name: 'VitePress by its own init',
    source: vitepress,
    home: 'My great project tagline',
    deep: ['/markdown-examples', 'Markdown Extension Examples'],
  },
  {
    name: 'Eleventy by create-eleventy-site',
    async source(folder) {
      await scaffold('@bjankord/create-eleventy-site@1')(folder);
      // Mirrors of the registry can lack a package that the newest release requires.
      await runOrThrow(['npm', 'pkg', 'set', 'devDependencies[@11ty/eleventy]=3.1.6'], folder);
      writeFiles(folder, { 'src/cats/tom.njk': catPage });
    },
    home: 'Learn Eleventy',
    deep: ['/cats/tom/', 'This is Tom'],
    async check({ page, url }) {
      await page.goto(`${url}/cats/tom/`);
      expect(
        await page.locator('img').evaluate((image: HTMLImageElement) => image.naturalWidth),
      ).toBeGreaterThan(0);
    },
  },
]);
