import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { corpus, json, scaffold, showsText } from './support/corpus.ts';
import type { Files } from './support/server.ts';

const picture =
  '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"><rect width="8" height="8"/></svg>\n';

/** Pinned: the next release has no package for every machine. */
const astro: Files = {
  'package.json': json({
    name: 'astro-site',
    type: 'module',
    version: '0.0.1',
    scripts: { dev: 'astro dev', build: 'astro build', preview: 'astro preview', astro: 'astro' },
    dependencies: { astro: '7.3.4' },
  }),
  'astro.config.mjs': `import { defineConfig } from 'astro/config';\n\nexport default defineConfig({});\n`,
  'tsconfig.json': json({ extends: 'astro/tsconfigs/strict' }),
  'public/picture.svg': picture,
  'src/pages/index.astro': `<html lang="en">
  <head><title>Home</title></head>
  <body><img src="/picture.svg" alt="" /><h1>An Astro site</h1><a href="/blog/first">First</a></body>
</html>
`,
  'src/pages/blog/first.md': '# The first post\n',
};

const vitepress: Files = {
  'package.json': json({
    name: 'docs',
    type: 'module',
    scripts: {
      'docs:dev': 'vitepress dev docs',
      'docs:build': 'vitepress build docs',
      'docs:preview': 'vitepress preview docs',
    },
    devDependencies: { vitepress: '^1.6.4' },
  }),
  'docs/.vitepress/config.mts': `import { defineConfig } from 'vitepress';

export default defineConfig({
  title: 'My Awesome Project',
  themeConfig: { sidebar: [{ text: 'Examples', items: [{ text: 'Markdown', link: '/markdown-examples' }] }] },
});
`,
  'docs/index.md': '---\nlayout: home\nhero:\n  name: My Awesome Project\n  tagline: A great tagline\n---\n',
  'docs/markdown-examples.md': '# Markdown Extension Examples\n\nHello.\n',
};

const eleventy: Files = {
  'package.json': json({
    name: 'eleventy-site',
    version: '1.0.0',
    type: 'module',
    scripts: { build: 'npx @11ty/eleventy', start: 'npx @11ty/eleventy --serve --quiet' },
    dependencies: { '@11ty/eleventy': '3.1.6' },
  }),
  'eleventy.config.js': `export default function (config) {
  config.addPassthroughCopy('picture.svg');
  return { dir: { output: 'public' } };
}
`,
  'picture.svg': picture,
  'index.md': '# Heading\n\n![A picture](/picture.svg)\n',
  'posts/first.md': '# The first post\n',
};

corpus('a site generator', [
  { name: 'Astro', source: astro, home: 'An Astro site', deep: ['/blog/first', 'The first post'] },
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
      await showsText(page, 'Welcome');
    },
  },
  {
    name: 'VitePress with its own scripts',
    source: vitepress,
    home: 'A great tagline',
    deep: ['/markdown-examples', 'Markdown Extension Examples'],
  },
  {
    name: 'Eleventy with an output folder of its own',
    source: eleventy,
    home: 'Heading',
    deep: ['/posts/first/', 'The first post'],
  },
]);
