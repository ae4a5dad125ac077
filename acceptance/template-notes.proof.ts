import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BunPlugin } from 'bun';
import type { BrowserContext } from 'playwright-core';
import { hasChromium, openChromium } from './support/chromium.ts';
import { root } from './support/server.ts';

/** Stands in for the platform: the first list is answered only when the test releases it. */
const fakeClient = `
  const rows = [];
  let lists = 0;
  export const signIn = { getUser: () => (location.hash === '#signed-out' ? null : { email: 'ada@example.test' }), handleRedirect: async () => null };
  export const notes = {
    sort: () => notes,
    perPage: () => notes,
    list() {
      const data = [...rows];
      if (++lists > 1) return Promise.resolve({ data });
      return new Promise((resolve) => {
        globalThis.answerFirstList = () => resolve({ data });
      });
    },
    insert: async ({ text }) => void rows.unshift({ id: String(rows.length), text, pinned: false }),
  };`;

const page = (file: string) => readFileSync(join(root, 'templates', file), 'utf8');
const mounted = `import { createRoot } from 'react-dom/client';
  import { Notes } from 'notes';
  createRoot(document.getElementById('root')).render(<Notes />);`;
const templates = {
  astro: {
    file: 'astro/src/scripts/notes.ts',
    entry: `import 'notes';`,
    body: page('astro/src/components/Notes.astro').replace(/<script .*<\/script>/, ''),
  },
  react: { file: 'react/src/Notes.tsx', entry: mounted, body: '<div id="root"></div>' },
  nextjs: { file: 'nextjs/app/notes.tsx', entry: mounted, body: '<div id="root"></div>' },
};

describe.if(hasChromium)('the notes of a template', () => {
  let browser: BrowserContext;
  beforeAll(async () => {
    browser = await openChromium({ width: 800, height: 600 });
  });
  afterAll(() => browser.close());

  test.each(Object.entries(templates))(
    '%s: a note that was added stays when an older list is answered after it',
    async (_, template) => {
      const served = await serve(template);
      const tab = await browser.newPage();
      await tab.goto(served.url.href);
      await tab.getByPlaceholder('Write something down').fill('still here');
      await tab.getByRole('button', { name: 'Add' }).click();
      await tab.getByText('still here').waitFor();
      // Two frames: the answer has been drawn by then.
      await tab.evaluate(async () => {
        (globalThis as unknown as { answerFirstList(): void }).answerFirstList();
        for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame);
      });
      expect(await tab.getByText('still here').count()).toBe(1);
      await tab.close();
      await served.stop(true);
    },
  );

  test('astro: the form is hidden until a person has signed in', async () => {
    const served = await serve(templates.astro);
    const tab = await browser.newPage();
    await tab.goto(`${served.url.href}#signed-out`);
    await tab.getByRole('button', { name: 'Sign in' }).waitFor();
    expect(await tab.getByPlaceholder('Write something down').isVisible()).toBe(false);
    await tab.close();
    await served.stop(true);
  });
});

async function serve({ file, entry, body }: { file: string; entry: string; body: string }) {
  const script = await bundle(join(root, 'templates', file), entry);
  const style = page('shared/style.css');
  const html = `<!doctype html><style>${style}</style><body>${body}<script type="module">${script}</script></body>`;
  return Bun.serve({
    port: 0,
    fetch: () => new Response(html, { headers: { 'content-type': 'text/html' } }),
  });
}

/** The template's own file, with the fake in place of its client. */
async function bundle(file: string, entry: string): Promise<string> {
  const modules: Record<string, string> = { entry, client: fakeClient };
  const plugin: BunPlugin = {
    name: 'template',
    setup(build) {
      build.onResolve({ filter: /^entry$/ }, () => ({ path: 'entry', namespace: 'test' }));
      build.onResolve({ filter: /^notes$/ }, () => ({ path: file }));
      build.onResolve({ filter: /\/svc\.ts$/ }, () => ({ path: 'client', namespace: 'test' }));
      build.onResolve({ filter: /^react/ }, ({ path }) => ({
        path: Bun.resolveSync(path, join(root, 'console')),
      }));
      build.onLoad({ filter: /./, namespace: 'test' }, ({ path }) => ({
        contents: modules[path] ?? '',
        loader: 'tsx',
      }));
    },
  };
  const built = await Bun.build({ entrypoints: ['entry'], plugins: [plugin], target: 'browser' });
  return (await built.outputs[0]!.text()).replaceAll('</script', '<\\/script');
}
