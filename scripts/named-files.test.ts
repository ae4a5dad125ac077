import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { Glob } from 'bun';

const root = join(import.meta.dir, '..');
const files = [...new Glob('**/*.{ts,tsx,md,mjs}').scanSync(root)].filter(
  (path) => !path.includes('node_modules'),
);
const names = new Set(files.map((path) => basename(path)));
const exists = (path: string, folder: string) =>
  path.startsWith('.')
    ? files.includes(join(folder, path))
    : path.includes('/')
      ? files.some((file) => file === path || file.endsWith(`/${path}`))
      : names.has(path);
/** Files that the examples create. */
const examples = new Set(['tags.ts', 'tags.shapes.ts', 'tags.test.ts']);

test.each(['ARCHITECTURE.md', 'CONTRIBUTING.md', 'server/src/http/raw-http/README.md'])(
  'every file that %s names exists',
  (document) => {
    const text = readFileSync(join(root, document), 'utf8');
    const named = [...text.matchAll(/`([\w@./-]+\.(?:ts|tsx|md|mjs))`/g)].map(([, path]) => path ?? '');
    expect(named.length).toBeGreaterThan(3);
    expect(named.filter((path) => !examples.has(path) && !exists(path, dirname(document)))).toEqual([]);
  },
);
