import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { letters } from '../acceptance/support/document.ts';
import { knownOperations } from '../acceptance/support/operation-inputs.ts';
import { testFiles } from './run-tests.ts';

const root = join(import.meta.dir, '..');
const page = readFileSync(join(root, 'docs/reliability.md'), 'utf8');
const rows = page.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| Promise'));

test('each row of the table has a promise, a figure and one command', () => {
  expect(rows.length).toBeGreaterThan(20);
  for (const row of rows)
    expect(row).toMatch(/^\| [^|]+ \| [^|]+ \| `npm run proofs -- [\w/-]+(?: [\w/-]+)*` \|$/);
});

test('each word of a command names a proof', () => {
  const proofs = testFiles('proof');
  const words = rows.flatMap((row) => /proofs -- ([^`]+)`/.exec(row)?.[1]?.split(' ') ?? []);
  expect(words.filter((word) => !proofs.some((path) => path.includes(word)))).toEqual([]);
});

test('the README and the production guide lead to the page', () => {
  for (const path of ['README.md', 'docs/guides/production.md'])
    expect(readFileSync(join(root, path), 'utf8')).toContain('reliability.md');
});

/** The proof requires these operations to be those of the OpenAPI document. */
test('the number of cells of the authorization table is right', () => {
  const cells = (knownOperations.length * letters.length).toLocaleString('en');
  const stated = /[\d,]+ operations × \d+ callers = [\d,]+/.exec(page)?.[0];
  expect(stated).toBe(`${knownOperations.length} operations × ${letters.length} callers = ${cells}`);
});
