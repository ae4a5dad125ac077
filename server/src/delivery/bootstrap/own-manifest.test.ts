import { expect, test } from 'bun:test';
import { renameManifest } from './seed-repo.ts';

const names = { name: 'Mine', slug: 'mine', tenant: null };

test.each([
  ['name: Old\napp:\n  slug: old\n', 'name: Mine\napp:\n  slug: mine\n'],
  [
    '# a\r\nname: "Old" # b\r\napp: {slug: old, summary: old}\r\n',
    '# a\r\nname: "Mine" # b\r\napp: {slug: mine, summary: old}\r\n',
  ],
  ["app: {slug: 'old'}\nstart:   node x.js   \n\n", 'app: {slug: "mine"}\nstart:   node x.js   \n\n'],
  ['name: |\n  Old\n  one\nstart: x\n', 'name: "Mine"\nstart: x\n'],
  ['tenant: there\napp: {slug: old}', 'tenant: there\napp: {slug: mine}'],
])('only the values that name the app change: %j', (before, after) => {
  expect(renameManifest(before, names)).toBe(after);
});

test.each([
  ['it does not name an app', 'start: node x.js\n'],
  ['it has the values already', 'name: Mine\napp: {slug: mine}\n'],
  ['it is not YAML', 'name: [\n'],
  ['it has no keys', '- name: x\n'],
  ['other values refer to the one that would change', 'name: &n Old\nstart: *n\n'],
  ['the values are not text', 'name: 3\napp: 4\n'],
])('the manifest is unchanged if %s', (_, text) => {
  expect(renameManifest(text, names)).toBeNull();
});

test('a value that YAML would read as another type is quoted', () => {
  const change = (name: string) => renameManifest('name: Old\n', { ...names, name });
  for (const name of ['null', 'true', '12', 'a: b', 'a #b', '{a}', 'x, y', ' é"\\'])
    expect([name, change(name)]).toEqual([name, `name: ${JSON.stringify(name)}\n`]);
  expect(renameManifest('tenant: there\n', { ...names, tenant: 'here' })).toBe('tenant: here\n');
});
