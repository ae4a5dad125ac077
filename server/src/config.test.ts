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

test('objects are files of the data dir unless a bucket is named, with the keys of the usual variables', () => {
  expect(readConfig({}).objectStore).toEqual({ kind: 'file' });
  expect(readConfig({ SVC_OBJECT_STORE: 'file' }).objectStore).toEqual({ kind: 'file' });
  const keys = { AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: 'secret' };
  expect(
    readConfig({
      SVC_OBJECT_STORE: 's3://objects?endpoint=http://127.0.0.1:9000/&region=eu-north-1',
      ...keys,
    }).objectStore,
  ).toEqual({
    kind: 's3',
    bucket: 'objects',
    endpoint: 'http://127.0.0.1:9000',
    region: 'eu-north-1',
    accessKeyId: 'id',
    secretAccessKey: 'secret',
  });
  expect(
    readConfig({ SVC_OBJECT_STORE: 's3://objects', AWS_REGION: 'eu-west-1', AWS_SESSION_TOKEN: 't', ...keys })
      .objectStore,
  ).toMatchObject({ endpoint: 'https://s3.eu-west-1.amazonaws.com', region: 'eu-west-1', sessionToken: 't' });
});

test('an object store that is misspelt, or a bucket without its keys, is told by the name of the variable', () => {
  const keys = { AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: 'secret' };
  const wrongIn = (env: Record<string, string>) => {
    try {
      readConfig(env);
    } catch (error) {
      return error instanceof ConfigError ? error.variable : String(error);
    }
    return 'nothing';
  };
  for (const store of [
    'files',
    's3://',
    's3://Objects',
    's3://a',
    's3://objects/path',
    's3://objects?region=eu%20west',
    's3://objects?endpoint=ftp://host',
    's3://objects?endpoint=host:9000',
    's3://objects?endpoit=https://host',
    's3://id:secret@objects',
    'https://objects.s3.amazonaws.com',
  ])
    expect([store, wrongIn({ SVC_OBJECT_STORE: store, ...keys })]).toEqual([store, 'SVC_OBJECT_STORE']);
  const named = { SVC_OBJECT_STORE: 's3://objects', ...keys };
  expect(wrongIn(named)).toBe('nothing');
  expect(wrongIn({ ...named, AWS_ACCESS_KEY_ID: '' })).toBe('AWS_ACCESS_KEY_ID');
  expect(wrongIn({ ...named, AWS_SECRET_ACCESS_KEY: '' })).toBe('AWS_SECRET_ACCESS_KEY');
});
