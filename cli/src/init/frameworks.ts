import { manifestPathPattern } from '@svc/contract/manifest.ts';
import { configText, type FolderFacts } from './folder-facts.ts';
import { type NodeProject, runsServer } from './node-project.ts';

/** Files to serve from a folder, or a program that listens. */
export type Served = { as: 'files'; dir: string } | { as: 'program'; start?: string };

interface Framework {
  /** The package that gives it away. */
  dependency: string;
  served(project: NodeProject, facts: FolderFacts): Served;
}

const files = (dir: string) => (): Served => ({ as: 'files', dir });
const program = (start?: string) => (): Served => ({ as: 'program', ...(start !== undefined && { start }) });
/** A bundler beside a program of one's own is a tool of that program. */
const bundled =
  (dir: string, tool?: string) =>
  (project: NodeProject, facts: FolderFacts): Served =>
    runsServer(project)
      ? { as: 'program' }
      : { as: 'files', dir: (tool === undefined ? null : outDir(facts, tool)) ?? dir };

/** The first that is there counts: what builds on others stands before them. */
const frameworks: readonly Framework[] = [
  {
    dependency: 'next',
    served: (_, facts) =>
      /\boutput\s*:\s*['"`]export['"`]/.test(configText(facts, 'next')) ? files('out')() : program()(),
  },
  {
    dependency: 'nuxt',
    served: ({ scripts }) =>
      /\bgenerate\b/.test(scripts.build ?? '')
        ? files('.output/public')()
        : program('node .output/server/index.mjs')(),
  },
  {
    dependency: 'astro',
    served: ({ dependencies }, facts) =>
      dependencies.has('@astrojs/node')
        ? program('node dist/server/entry.mjs')()
        : files(outDir(facts, 'astro') ?? 'dist')(),
  },
  {
    dependency: '@sveltejs/kit',
    served: ({ dependencies }) =>
      dependencies.has('@sveltejs/adapter-static') ? files('build')() : program('node build')(),
  },
  { dependency: '@remix-run/serve', served: program() },
  { dependency: '@react-router/serve', served: program() },
  { dependency: '@nestjs/core', served: program() },
  { dependency: 'gatsby', served: files('public') },
  { dependency: '@docusaurus/core', served: files('build') },
  { dependency: '@11ty/eleventy', served: files('_site') },
  {
    dependency: 'vitepress',
    served: ({ scripts }) => {
      const root = /\bvitepress build\s+([\w./-]+)/.exec(scripts.build ?? scripts['docs:build'] ?? '')?.[1];
      return files(inside(`${root ?? '.'}/.vitepress/dist`) ?? '.vitepress/dist')();
    },
  },
  { dependency: 'react-scripts', served: bundled('build') },
  { dependency: '@vue/cli-service', served: bundled('dist') },
  { dependency: 'vite', served: bundled('dist', 'vite') },
  { dependency: 'parcel', served: bundled('dist') },
  ...['express', 'fastify', 'koa', 'hono', '@hapi/hapi', 'restify', 'polka'].map((dependency) => ({
    dependency,
    served: program(),
  })),
];

export function frameworkOf(
  project: NodeProject,
  facts: FolderFacts,
): { dependency: string; served: Served } | null {
  const found = frameworks.find(({ dependency }) => project.dependencies.has(dependency));
  return found === undefined ? null : { dependency: found.dependency, served: found.served(project, facts) };
}

/** Generators without a `package.json`, by the file that gives them away. */
export const generators: readonly { file: string; build: string; dir: string }[] = [
  { file: 'hugo.toml', build: 'hugo', dir: 'public' },
  { file: 'hugo.yaml', build: 'hugo', dir: 'public' },
  { file: 'mkdocs.yml', build: 'mkdocs build', dir: 'site' },
  { file: 'book.toml', build: 'mdbook build', dir: 'book' },
  { file: '_config.yml', build: 'bundle exec jekyll build', dir: '_site' },
];

/** Where the configuration says that the files go, as far as its text can tell. */
function outDir(facts: FolderFacts, tool: string): string | null {
  const said = /\boutDir\s*:\s*['"`]([^'"`$]+)['"`]/.exec(configText(facts, tool))?.[1];
  return said === undefined ? null : inside(said);
}

function inside(path: string): string | null {
  const short = path.replace(/^(?:\.\/)+/, '').replace(/\/+$/, '');
  return manifestPathPattern.test(short) ? short : null;
}
