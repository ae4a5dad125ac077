import { expect, test } from 'bun:test';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { detectSource } from '@svc/contract/detect/detect.ts';
import { type BuildSettings, unknownSettings } from '@svc/contract/detect/settings.ts';
import { initFolder } from '../cli/src/init/init-folder.ts';
import { repositoryFiles } from '../server/src/delivery/detect/detect-repository.ts';
import { planSource } from '../server/src/delivery/detect/plan-source.ts';
import { useFolder } from './use-fixture.ts';

const root = useFolder();

type Files = Record<string, string>;
const node = (data: object, more: Files = {}): Files => ({ 'package.json': JSON.stringify(data), ...more });
const build = { build: 'x build' };

const layouts: Record<string, Files> = {
  'an empty folder': { 'README.md': '' },
  'a page': { 'index.html': '' },
  'pages in public': { 'public/index.html': '' },
  'a Dockerfile beside a site generator': node(
    { scripts: build, dependencies: { astro: '5' } },
    { Dockerfile: '' },
  ),
  'a Containerfile': { Containerfile: '' },
  'a compose file': { 'compose.yaml': '' },
  'Next.js': node({ scripts: { ...build, start: 'next start' }, dependencies: { next: '16' } }),
  'Next.js that exports files': node(
    { scripts: build, dependencies: { next: '16' } },
    { 'next.config.mjs': "export default { output: 'export' }" },
  ),
  Nuxt: node({ scripts: build, dependencies: { nuxt: '4' } }),
  'Astro with its own output folder': node(
    { scripts: build, dependencies: { astro: '5' } },
    { 'astro.config.mjs': "export default { outDir: './www' }", 'pnpm-lock.yaml': '' },
  ),
  'SvelteKit as files': node({
    scripts: build,
    devDependencies: { '@sveltejs/kit': '2', '@sveltejs/adapter-static': '3' },
  }),
  'Vite with a development server': node(
    { scripts: { ...build, start: 'vite' }, devDependencies: { vite: '7', react: '19' } },
    { 'index.html': '', 'yarn.lock': '' },
  ),
  'Vite beside Express': node(
    { scripts: { ...build, start: 'node server.js' }, dependencies: { express: '5', vite: '7' } },
    { 'server.js': '' },
  ),
  'Express without a script': node(
    { main: 'src/server.js', dependencies: { express: '5' } },
    { 'src/server.js': '' },
  ),
  'Angular with a declared package manager': node(
    { scripts: build, dependencies: { '@angular/core': '20' }, packageManager: 'pnpm@9.1.0' },
    { 'yarn.lock': '', 'tsconfig.json': '' },
  ),
  'VitePress in docs': node({
    scripts: { build: 'vitepress build docs' },
    devDependencies: { vitepress: '1' },
  }),
  'a package with built pages': node({ scripts: build }, { 'dist/index.html': '', 'index.html': '' }),
  'a package.json that is not JSON': { 'package.json': '{', 'index.html': '' },
  'MkDocs with Python requirements': { 'mkdocs.yml': '', 'requirements.txt': 'mkdocs' },
  Flask: { 'requirements.txt': 'Flask==3', 'app.py': '' },
  Django: { 'requirements.txt': 'django', 'manage.py': '' },
  Go: { 'go.mod': 'module x', 'main.go': '' },
  Rails: { Gemfile: "gem 'rails'" },
  PHP: { 'composer.json': '{}', 'public/index.php': '' },
  Rust: { 'Cargo.toml': '[package]\nname = "shop"' },
  'a Procfile': node({ scripts: { start: 'a' } }, { Procfile: 'web: node b.js' }),
  'a site for Netlify': node(
    { scripts: { start: 'x' } },
    { 'netlify.toml': '[build]\ncommand = "x"\npublish = "web"\n' },
  ),
  'a folder for Netlify': {
    'web/package.json': JSON.stringify({ scripts: build, devDependencies: { vite: '7' } }),
    'netlify.toml': '[build]\nbase = "web"\ncommand = "y"\npublish = "out"\n',
  },
  'a site for Vercel': node(
    { scripts: build, dependencies: { '@11ty/eleventy': '3' } },
    { 'vercel.json': '{"buildCommand": "y", "outputDirectory": "out"}' },
  ),
  'a workspace with one app': node(
    { workspaces: ['apps/*', 'packages/*'], scripts: build },
    {
      'package-lock.json': '',
      'apps/web/package.json': JSON.stringify({ scripts: build, devDependencies: { vite: '7' } }),
      'packages/ui/package.json': '{}',
    },
  ),
  'main in a folder too deep to be seen': node({ main: 'a/b/c/d/server.js' }, { 'a/b/c/d/server.js': '' }),
};

test.each(Object.entries(layouts))(
  'svc init, svc apps detect and a push agree on %s',
  async (name, files) => {
    const folder = join(root, name.replaceAll(/\W/g, '-'));
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    const inRepository = await detectInRepository(files);
    const init = { folder, names: {}, baseUrl: 'http://localhost:4400' };
    const { manifest, text } = await initFolder({ ...init, to: 'nowhere' });
    const method = inRepository.deploy_method;
    const pushed = await planSource(folder, { method });

    expect(pushed.plan).toEqual({
      installCommand: inRepository.install_command,
      buildCommand: inRepository.build_command,
      dir: inRepository.dir ?? '.',
      startCommand: method === 'docker' ? inRepository.start_command : null,
      outputDir: inRepository.output_dir,
      dockerfile: inRepository.dockerfile,
      composeFile: inRepository.compose_file,
      language: inRepository.language,
    });
    const isContainer = inRepository.dockerfile !== null || inRepository.compose_file !== null;
    expect([manifest.deploy?.method, manifest.static?.dir ?? null]).toEqual([
      method,
      inRepository.output_dir,
    ]);
    const command = typeof manifest.build === 'object' ? manifest.build.command : manifest.build;
    expect([command ?? null, manifest.start ?? null]).toEqual(
      isContainer ? [null, null] : [inRepository.build_command, inRepository.start_command],
    );
    // The written file changes nothing about how the folder is built and run.
    writeFileSync(join(folder, 'svc.yaml'), text);
    expect((await planSource(folder, { method })).plan).toEqual(pushed.plan);
  },
);

/** Detects like `svc apps detect`, on the tree of a repository. */
async function detectInRepository(files: Files): Promise<BuildSettings> {
  const source = repositoryFiles(
    { readFile: async (_repo, { path }) => files[path] ?? null },
    {
      repo: { owner: 'acme', name: 'shop' },
      sha: 'a'.repeat(40),
      entries: Object.entries(files).map(([path, text]) => ({ path, kind: 'file', bytes: text.length })),
      folder: '',
    },
  );
  if (!source) throw new Error('The repository has no root folder.');
  return (await detectSource(source)).options[0] ?? unknownSettings;
}
