import { expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { readConfig } from './config.ts';
import { ConfigError } from './core/config-error.ts';
import { resolveClientAddress, socketPeer } from './http/client-address.ts';

test('the default data dir is relative to the installation', () => {
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

test('only configured proxies are trusted', () => {
  expect(readConfig({}).trustedProxies.includes('127.0.0.1')).toBe(false);
  const { trustedProxies } = readConfig({ SVC_TRUSTED_PROXIES: 'loopback, 10.0.0.0/8' });
  const included = ['127.0.0.1', '::1', '10.2.3.4', '11.0.0.1'].map(trustedProxies.includes);
  expect(included).toEqual([true, true, true, false]);
  expect(() => readConfig({ SVC_TRUSTED_PROXIES: 'proxy.internal' })).toThrow(ConfigError);
});

test('SVC_LISTEN is the path of a socket, whose proxy is trusted beside the configured ones', () => {
  const env = { SVC_LISTEN: 'unix:/run/svc/svc.sock', SVC_BASE_URL: 'https://svc.example.com' };
  expect([readConfig({}).socket, readConfig(env).socket]).toEqual([null, '/run/svc/svc.sock']);
  const { trustedProxies } = readConfig({ ...env, SVC_TRUSTED_PROXIES: '10.0.0.0/8' });
  const clientOf = (forwardedFor: string | null) =>
    resolveClientAddress(socketPeer, forwardedFor, trustedProxies);
  expect(clientOf('198.51.100.4, 203.0.113.9')).toBe('203.0.113.9');
  expect(clientOf('198.51.100.4, 203.0.113.9, 10.0.0.1')).toBe('203.0.113.9');
  expect(clientOf('198.51.100.4, unix')).toBe(socketPeer);
  expect(clientOf(null)).toBe(socketPeer);
  for (const [variable, wrong] of [
    ['SVC_LISTEN', { ...env, SVC_LISTEN: '/run/svc/svc.sock' }],
    ['SVC_LISTEN', { ...env, SVC_LISTEN: 'unix:svc.sock' }],
    ['SVC_LISTEN', { ...env, SVC_LISTEN: 'unix:/run/svc/' }],
    ['SVC_LISTEN', { ...env, SVC_LISTEN: `unix:/run/${'x'.repeat(100)}` }],
    ['SVC_BASE_URL', { SVC_LISTEN: env.SVC_LISTEN }],
    ['SVC_HTTPS_PORT', { ...env, SVC_HTTPS_PORT: '4443' }],
  ] as const)
    expect(() => readConfig(wrong)).toThrow(variable);
});

test('there is a worker for each core but one, or the chosen number', () => {
  expect(readConfig({}).workers).toBe(Math.min(64, Math.max(1, availableParallelism() - 1)));
  expect(readConfig({ SVC_WORKERS: '3' }).workers).toBe(3);
  for (const text of ['0', '-1', '1.5', '65', 'many'])
    expect(() => readConfig({ SVC_WORKERS: text })).toThrow('SVC_WORKERS');
});

test('the apps domain must be a valid host name', () => {
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

test('the demo tenant is created only when the base URL is loopback', () => {
  expect(readConfig({}).seed).toBe('demo');
  expect(readConfig({ SVC_BASE_URL: 'http://127.0.0.1:4400' }).seed).toBe('demo');
  expect(readConfig({ SVC_SEED: 'none' }).seed).toBe('none');
  expect(readConfig({ SVC_BASE_URL: 'https://svc.example.com' }).seed).toBe('none');
  const both = { SVC_BASE_URL: 'https://svc.example.com', SVC_SEED: 'demo' };
  expect(() => readConfig(both)).toThrow('SVC_SEED');
});

test('passwords can be turned off where another provider signs people in', () => {
  const provider = {
    SVC_OIDC_ISSUER: 'https://id.example.com',
    SVC_OIDC_CLIENT_ID: 'svc',
    SVC_OIDC_CLIENT_SECRET: 'secret',
  };
  expect(readConfig({}).localPasswords).toBe('on');
  expect(readConfig({ ...provider, SVC_LOCAL_PASSWORDS: 'off' }).localPasswords).toBe('off');
  expect(() => readConfig({ SVC_LOCAL_PASSWORDS: 'off' })).toThrow('SVC_OIDC_ISSUER');
});

test('attributes of members follow claims: attribute=claim, or a name for both', () => {
  const provider = {
    SVC_OIDC_ISSUER: 'https://id.example.com',
    SVC_OIDC_CLIENT_ID: 'svc',
    SVC_OIDC_CLIENT_SECRET: 'secret',
  };
  const claims = (text: string) => readConfig({ ...provider, SVC_OIDC_ATTRIBUTE_CLAIMS: text }).upstream;
  expect(claims(' region=https://id.example.com/zone=1, department,')?.attributeClaims).toEqual({
    region: 'https://id.example.com/zone=1',
    department: 'department',
  });
  expect(readConfig(provider).upstream?.attributeClaims).toEqual({});
  for (const wrong of ['Region', 'region=', 'email=mail', '=x'])
    expect(() => claims(wrong)).toThrow('SVC_OIDC_ATTRIBUTE_CLAIMS');
});

test('the default resolvers are those of the system', () => {
  const none = { dns: { servers: null, port: 53 }, edgeAddresses: null, caaId: null };
  expect(readConfig({}).domains).toEqual(none);
  const env = { SVC_DNS_SERVERS: '127.0.0.1:5300,::1', SVC_DNS_PORT: '5300', SVC_ACME_CAA_ID: 'ca.example' };
  expect(readConfig({ ...env, SVC_EDGE_ADDRESSES: '192.0.2.1, 2001:db8::1' }).domains).toEqual({
    dns: {
      servers: [
        { host: '127.0.0.1', port: 5300 },
        { host: '::1', port: 53 },
      ],
      port: 5300,
    },
    edgeAddresses: ['192.0.2.1', '2001:db8::1'],
    caaId: 'ca.example',
  });
  for (const wrong of [
    { SVC_DNS_SERVERS: 'dns.example' },
    { SVC_DNS_PORT: '0' },
    { SVC_DNS_PORT: 'x' },
    { SVC_EDGE_ADDRESSES: '192.0.2.1,edge.example' },
  ])
    expect(() => readConfig(wrong)).toThrow(ConfigError);
});

test('the object store is the data dir or an S3 bucket with AWS keys', () => {
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

test('an invalid object store or missing keys are reported with the variable', () => {
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

test('SVC_EDGE_PORT of earlier versions is ignored, whatever it says', () => {
  for (const SVC_EDGE_PORT of ['4480', '4400', 'x'])
    expect({ ...readConfig({ SVC_EDGE_PORT }), trustedProxies: null }).toEqual({
      ...readConfig({}),
      trustedProxies: null,
    });
});

test('SVC_EXTRA_HOSTS adds host names of the platform', () => {
  expect(readConfig({}).extraHosts).toEqual([]);
  expect(readConfig({ SVC_EXTRA_HOSTS: 'SVC.internal., svc.default.svc.cluster.local' }).extraHosts).toEqual([
    'svc.internal',
    'svc.default.svc.cluster.local',
  ]);
  for (const text of ['a,', 'http://a.test', 'a.test:80', '*.a.test', 'a b', 'a..b', '.a', '-a.test'])
    expect(() => readConfig({ SVC_EXTRA_HOSTS: text })).toThrow(ConfigError);
});

test('the edge cache has 64 MiB by default', () => {
  expect(readConfig({}).edgeCacheBytes).toBe(64 * 1024 * 1024);
  expect(readConfig({ SVC_EDGE_CACHE_MB: '1' }).edgeCacheBytes).toBe(1024 * 1024);
  for (const text of ['0', '-1', '1.5', '1e3', '64MB', '65537'])
    expect(() => readConfig({ SVC_EDGE_CACHE_MB: text })).toThrow(ConfigError);
});

test('SVC_HTTPS_PORT enables HTTPS, with or without certificate files', () => {
  expect(readConfig({}).https).toBeNull();
  expect(readConfig({ SVC_HTTPS_PORT: '4443' }).https).toEqual({ port: 4443, files: null });
  const files = { SVC_TLS_CERT_FILE: '/tls/cert.pem', SVC_TLS_KEY_FILE: '/tls/key.pem' };
  expect(readConfig({ SVC_HTTPS_PORT: '4443', ...files }).https?.files).toEqual({
    cert: '/tls/cert.pem',
    key: '/tls/key.pem',
  });
  for (const wrong of [
    { SVC_HTTPS_PORT: '0' },
    { SVC_HTTPS_PORT: 'x' },
    { SVC_HTTPS_PORT: '4400' },
    files,
    { SVC_HTTPS_PORT: '4443', SVC_TLS_CERT_FILE: '/tls/cert.pem' },
    { SVC_HTTPS_PORT: '4443', SVC_TLS_KEY_FILE: '/tls/key.pem' },
  ])
    expect(() => readConfig(wrong)).toThrow(ConfigError);
});

test('SVC_ACME_DIRECTORY enables certificates', () => {
  expect(readConfig({}).acme).toBeNull();
  const directory = 'https://ca.example/directory';
  expect(readConfig({ SVC_ACME_DIRECTORY: directory }).acme).toEqual({
    directory,
    email: null,
    caFile: null,
  });
  const all = { SVC_ACME_EMAIL: 'ops@example.com', SVC_ACME_CA_FILE: '/ca.pem' };
  expect(readConfig({ SVC_ACME_DIRECTORY: directory, ...all }).acme).toEqual({
    directory,
    email: 'ops@example.com',
    caFile: '/ca.pem',
  });
  for (const wrong of [
    { SVC_ACME_DIRECTORY: 'ca.example' },
    { SVC_ACME_EMAIL: 'ops@example.com' },
    { SVC_ACME_CA_FILE: '/ca.pem' },
    { SVC_ACME_DIRECTORY: directory, SVC_ACME_EMAIL: 'ops' },
  ])
    expect(() => readConfig(wrong)).toThrow(ConfigError);
});

test('the default runtime is processes', () => {
  expect(readConfig({}).runtime).toMatchObject({ kind: 'process', controlGroups: 'auto' });
  expect(readConfig({ SVC_RUNTIME: 'docker' }).runtime.kind).toBe('docker');
  expect(readConfig({ SVC_CGROUP: 'own' }).runtime.controlGroups).toBe('own');
  expect(readConfig({}).runtime.isolation).toMatchObject({ use: 'preferred', egress: 'public' });
  const publicUrl = { SVC_BASE_URL: 'https://svc.example.com' };
  expect(readConfig(publicUrl).runtime.isolation.use).toBe('required');
  expect(readConfig({ ...publicUrl, SVC_RUNTIME_ISOLATION: 'none' }).runtime.isolation.use).toBe('none');
  for (const wrong of [{ SVC_RUNTIME: 'podman' }, { SVC_CGROUP: '/svc' }, { SVC_APP_EGRESS: 'some' }])
    expect(() => readConfig(wrong)).toThrow(ConfigError);
});

test('the default Docker engine is the local socket', () => {
  expect(readConfig({}).runtime.docker).toEqual({
    host: 'unix:///var/run/docker.sock',
    baseImage: 'node:22-bookworm-slim',
    network: null,
    address: null,
    swarm: 'refused',
    registry: null,
  });
  const named = {
    SVC_DOCKER_SWARM: 'trusted-network',
    SVC_DOCKER_HOST: 'tcp://10.0.0.5:2375',
    SVC_DOCKER_NETWORK: 'apps',
    SVC_DOCKER_ADDRESS: '10.0.0.6',
    SVC_DOCKER_REGISTRY: 'registry.example.com:5000/apps',
  };
  expect(readConfig(named).runtime.docker).toMatchObject({
    host: named.SVC_DOCKER_HOST,
    network: 'apps',
    swarm: 'trusted-network',
    registry: 'registry.example.com:5000/apps',
  });
  for (const wrong of [
    { SVC_DOCKER_HOST: 'http://10.0.0.5' },
    { SVC_DOCKER_HOST: 'tcp://user@10.0.0.5:1' },
    { SVC_DOCKER_BASE_IMAGE: 'a b' },
    { SVC_DOCKER_NETWORK: '--host' },
    { SVC_DOCKER_ADDRESS: 'a:1' },
    { SVC_DOCKER_REGISTRY: 'https://registry.example.com' },
    { SVC_DOCKER_SWARM: 'yes' },
  ])
    expect(() => readConfig(wrong)).toThrow(ConfigError);
});

test('e-mail needs both a server and a sender', () => {
  expect(readConfig({}).mail).toBeNull();
  const env = { SVC_SMTP_URL: 'smtps://u:p@mail.example', SVC_MAIL_FROM: 'svc <svc@example.com>' };
  expect(readConfig(env).mail).toEqual({
    host: 'mail.example',
    port: 465,
    tls: 'implicit',
    login: { user: 'u', password: 'p' },
    from: { name: 'svc', address: 'svc@example.com' },
  });
  for (const [wrong, variable] of [
    [{ ...env, SVC_MAIL_FROM: '' }, 'SVC_MAIL_FROM'],
    [{ ...env, SVC_SMTP_URL: '' }, 'SVC_SMTP_URL'],
    [{ ...env, SVC_SMTP_URL: 'mail.example:25' }, 'SVC_SMTP_URL'],
    [{ ...env, SVC_MAIL_FROM: 'svc' }, 'SVC_MAIL_FROM'],
  ] as const) {
    const refusal = (() => {
      try {
        readConfig(wrong);
      } catch (error) {
        return error instanceof ConfigError ? error.variable : error;
      }
    })();
    expect(refusal).toBe(variable);
  }
});
