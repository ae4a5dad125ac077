import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { letters } from '../acceptance/support/document.ts';
import { knownOperations } from '../acceptance/support/operation-inputs.ts';
import { acceptedRequests, refusedRequests } from '../server/src/http/raw-http/smuggling-fixture.ts';
import { testFiles } from './run-tests.ts';

const root = join(import.meta.dir, '..');
const page = readFileSync(join(root, 'docs/reliability.md'), 'utf8');
const rows = page.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| Promise'));

const commands = { test: 'npm test', proof: 'npm run proofs' } as const;

test('each row of the table has a promise, a figure and the commands that repeat it', () => {
  expect(rows.length).toBeGreaterThan(20);
  const command = `\`(?:${Object.values(commands).join('|')}) --(?: [\\w/-]+)+\``;
  const form = new RegExp(`^\\| [^|]+ \\| [^|]+ \\| ${command}(?:, ${command})* \\|$`);
  for (const row of rows) expect(row).toMatch(form);
});

test.each(['test', 'proof'] as const)('each word of a command names a *.%s.ts file', (ending) => {
  const files = testFiles(ending);
  const found = page.matchAll(new RegExp(`\`${commands[ending]} -- ([^\`]+)\``, 'g'));
  const words = [...found].flatMap(([, text = '']) => text.split(' '));
  expect(words.length).toBeGreaterThan(0);
  expect(words.filter((word) => !files.some((path) => path.includes(word)))).toEqual([]);
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

test('the numbers of requests that are refused and accepted are right', () => {
  const [refused, accepted] = [refusedRequests, acceptedRequests].map((all) => Object.keys(all).length);
  expect(page).toContain(`${refused} requests get 400`);
  expect(page).toContain(`${accepted} that are accepted`);
});
