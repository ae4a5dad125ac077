import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { programs, requiredPrograms, words } from './required-programs.ts';

const root = resolve(import.meta.dir, '..');

requiredPrograms();

test('CI requires every program that tests are skipped without, and the guide for contributors names them', () => {
  for (const file of ['.ci/run', 'CONTRIBUTING.md']) {
    const [, list = ''] = /SVC_TEST_REQUIRE="([^"]*)"/.exec(readFileSync(join(root, file), 'utf8')) ?? [];
    expect([file, words(list).sort()]).toEqual([file, Object.keys(programs).sort()]);
  }
});
