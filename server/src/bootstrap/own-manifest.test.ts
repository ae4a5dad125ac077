import { expect, test } from 'bun:test';
import { ownManifest } from './own-manifest.ts';

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
])('only the values that name the app are others: %j', (before, after) => {
  expect(ownManifest(before, names)).toBe(after);
});

test.each([
  ['nothing of it names an app', 'start: node x.js\n'],
  ['it says so already', 'name: Mine\napp: {slug: mine}\n'],
  ['it is no YAML', 'name: [\n'],
  ['it holds no keys', '- name: x\n'],
  ['other values follow from the one that would change', 'name: &n Old\nstart: *n\n'],
  ['it names nothing by a text', 'name: 3\napp: 4\n'],
])('it stays as it is where %s', (_, text) => {
  expect(ownManifest(text, names)).toBeNull();
});

test('a value that YAML would read as something else stands in quotes', () => {
  const change = (name: string) => ownManifest('name: Old\n', { ...names, name });
  for (const name of ['null', 'true', '12', 'a: b', 'a #b', '{a}', 'x, y', ' é"\\'])
    expect([name, change(name)]).toEqual([name, `name: ${JSON.stringify(name)}\n`]);
  expect(ownManifest('tenant: there\n', { ...names, tenant: 'here' })).toBe('tenant: here\n');
});
