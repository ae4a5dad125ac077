import { expect, test } from 'bun:test';
import { requiredTools } from './tools.ts';

const toolsOf = async (files: Record<string, string>) =>
  (
    await requiredTools({
      paths: new Set(Object.keys(files)),
      read: async (path) => files[path] ?? null,
    })
  ).map(({ name, range }) => `${name} ${range}`);
const packageJson = (data: object) => ({ 'package.json': JSON.stringify(data) });

test('Node.js is chosen by engines, then .nvmrc, then .node-version, else the newest LTS', async () => {
  const engines = packageJson({ engines: { node: '>=20 <23' } });
  const files = { '.nvmrc': 'v22.3\n', '.node-version': '20.1.0\n' };
  expect(await toolsOf({ ...engines, ...files })).toEqual(['node >=20 <23']);
  expect(await toolsOf({ ...packageJson({}), ...files })).toEqual(['node 22.3']);
  expect(await toolsOf({ ...packageJson({}), '.node-version': '20.1.0\n' })).toEqual(['node 20.1.0']);
  expect(await toolsOf({ ...packageJson({}), '.nvmrc': 'lts/jod' })).toEqual(['node 22']);
  expect(await toolsOf({ ...packageJson({}), '.nvmrc': 'lts/*' })).toEqual(['node lts']);
  expect(await toolsOf({ ...packageJson({}), '.nvmrc': '$(reboot)' })).toEqual(['node lts']);
  expect(await toolsOf(packageJson({ engines: { node: '*' } }))).toEqual(['node lts']);
});

test('the package manager is chosen by packageManager, then by the version of the lock file', async () => {
  const managerOf = async (files: Record<string, string>, data = {}) =>
    (await toolsOf({ ...packageJson(data), ...files }))[1];
  expect(await managerOf({ 'yarn.lock': '' }, { packageManager: 'pnpm@9.12.0+sha512.ab' })).toBe(
    'pnpm 9.12.0',
  );
  expect(await managerOf({ 'pnpm-lock.yaml': "lockfileVersion: '9.0'\n" })).toBe('pnpm 9 || 10');
  expect(await managerOf({ 'pnpm-lock.yaml': "lockfileVersion: '6.0'\n" })).toBe('pnpm 8');
  expect(await managerOf({ 'pnpm-lock.yaml': 'lockfileVersion: 5.4\n' })).toBe('pnpm 7');
  expect(await managerOf({ 'yarn.lock': '# yarn lockfile v1\n' })).toBe('yarn 1');
  expect(await managerOf({ 'yarn.lock': '# note\n\n__metadata:\n  version: 8\n  cacheKey: 10c0\n' })).toBe(
    'yarn >=4.0.0 <4.14.0',
  );
  expect(await managerOf({ 'bun.lock': '{}' })).toBe('bun 1');
  expect(await managerOf({ 'package-lock.json': '{}' })).toBeUndefined();
});

test('a project without package.json requires nothing', async () => {
  expect(await toolsOf({ 'requirements.txt': 'flask', '.nvmrc': '22' })).toEqual([]);
});
