import { expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { ConfigError, readConfig } from './config.ts';

test('the data dir is that of the installation, wherever one stands, unless another is named', () => {
  const { dataDir } = readConfig({});
  expect(dataDir.endsWith('/.svc')).toBe(true);
  expect(existsSync(join(dirname(dataDir), 'svc-admin'))).toBe(true);
  const before = process.cwd();
  process.chdir('/');
  try {
    expect(readConfig({}).dataDir).toBe(dataDir);
    expect(readConfig({ SVC_DATA_DIR: 'data' }).dataDir).toBe(resolve('/data'));
  } finally {
    process.chdir(before);
  }
});

test('no proxy is trusted unless it is named', () => {
  expect(readConfig({}).trustedProxies.includes('127.0.0.1')).toBe(false);
  const { trustedProxies } = readConfig({ SVC_TRUSTED_PROXIES: 'loopback, 10.0.0.0/8' });
  const included = ['127.0.0.1', '::1', '10.2.3.4', '11.0.0.1'].map(trustedProxies.includes);
  expect(included).toEqual([true, true, true, false]);
  expect(() => readConfig({ SVC_TRUSTED_PROXIES: 'proxy.internal' })).toThrow(ConfigError);
});

test('apps live below a domain of their own, spelt as a host is', () => {
  expect(readConfig({}).appsDomain).toBe('apps.localhost');
  expect(readConfig({ SVC_APPS_DOMAIN: 'apps.example.com' }).appsDomain).toBe('apps.example.com');
  for (const domain of [
    'https://apps.example.com',
    'apps.example.com:80',
    'Apps.example.com',
    '.apps',
    '10.0.0.1',
  ])
    expect(() => readConfig({ SVC_APPS_DOMAIN: domain })).toThrow(ConfigError);
});
