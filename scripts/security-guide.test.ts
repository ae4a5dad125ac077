import { expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dir, '..');
const guide = readFileSync(join(root, 'docs/guides/security.md'), 'utf8');
const [, section = ''] = guide.split('## What holds, and the test that shows it\n');
const rows = [...(section.split('\n## ')[0] ?? '').matchAll(/^\| (.+) \| `(.+)` \| (.+) \|$/gm)];

/** As it is written in the source. */
const titles = (text: string) =>
  [...text.matchAll(/(['"`])((?:\\.|(?!\1).)*)\1/g)].map(([, , title = '']) => title.replaceAll('\\', ''));

test('each test that the security guide names exists', () => {
  expect(rows.length).toBeGreaterThan(45);
  for (const [, property = '', file = '', title = ''] of rows) {
    const path = join(root, file);
    expect([property, file, existsSync(path)]).toEqual([property, file, true]);
    const found = titles(readFileSync(path, 'utf8')).some((it) => it.endsWith(title));
    expect([file, title, found]).toEqual([file, title, true]);
  }
});
