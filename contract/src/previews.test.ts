import { expect, test } from 'bun:test';
import { patientMs } from '../../scripts/patience.ts';
import { contract } from './all.ts';
import { matchesBranch, previewOperations } from './previews.ts';

test('patterns of branches match by part, by path and with exclusions', () => {
  const patterns = ['feature/*', 'release/**', '!feature/no*'];
  const matched = ['feature/x', 'feature/', 'release/1/2', 'release/1'];
  const others = ['feature', 'feature/x/y', 'feature/none', 'xfeature/x', 'main', ''];
  expect(matched.filter((branch) => !matchesBranch(patterns, branch))).toEqual([]);
  expect(others.filter((branch) => matchesBranch(patterns, branch))).toEqual([]);
  expect(matchesBranch(true, 'anything/at/all')).toBe(true);
  expect(['dependabot/npm', 'x'].map((branch) => matchesBranch(['!dependabot/**'], branch))).toEqual([
    false,
    true,
  ]);
});

test('a hostile pattern takes no longer than its length allows', () => {
  const branch = 'a'.repeat(255);
  const started = performance.now();
  expect(matchesBranch([`${'*a'.repeat(49)}*b`], branch)).toBe(false);
  expect(matchesBranch([`${'**a'.repeat(30)}b`], branch)).toBe(false);
  expect(performance.now() - started).toBeLessThan(patientMs(500));
});

test('operations on a preview exist and name an app', () => {
  const known = new Map(contract.map(({ endpoint }) => [endpoint.id, endpoint.authority.app]));
  expect([...previewOperations].filter((id) => known.get(id) === undefined)).toEqual([]);
});
