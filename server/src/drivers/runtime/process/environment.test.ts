import { expect, test } from 'bun:test';
import { readBaseEnvironment } from './environment.ts';

test('apps get the PATH of the machine with the node of the server first', () => {
  const { path } = readBaseEnvironment({
    npm_node_execpath: '/opt/node/bin/node',
    PATH: '/srv/svc/node_modules/.bin:/srv/svc/node_modules/npm/node-gyp-bin:/usr/local/bin:/usr/bin::/usr/bin',
  });
  expect(path).toBe('/opt/node/bin:/usr/local/bin:/usr/bin');
  expect(readBaseEnvironment({}).path).toContain('/usr/bin');
});

test('builds get proxy and registry settings, but no secrets or folders of the server', () => {
  const { forBuilds } = readBaseEnvironment({
    HTTPS_PROXY: 'http://proxy.test:3128',
    no_proxy: 'localhost',
    HTTP_PROXY: 'http://me:secret@proxy.test:3128',
    NODE_EXTRA_CA_CERTS: '/etc/ca.pem',
    npm_config_registry: 'https://npm.test/',
    npm_config_userconfig: '/root/.npmrc',
    npm_config_local_prefix: '/srv/svc',
    npm_config__auth: 'secret',
    'npm_config_//npm.test/:_authToken': 'secret',
    SVC_DATABASE_URL: 'postgresql://secret',
    AWS_SECRET_ACCESS_KEY: 'secret',
  });
  expect(forBuilds).toEqual({
    HTTPS_PROXY: 'http://proxy.test:3128',
    no_proxy: 'localhost',
    NODE_EXTRA_CA_CERTS: '/etc/ca.pem',
    npm_config_registry: 'https://npm.test/',
  });
});
