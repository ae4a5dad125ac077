import { expect, test } from 'bun:test';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { hasChromium } from '../acceptance/support/chromium.ts';
import { hasPostgres15 } from '../acceptance/support/postgres15.ts';
import { hasAcmeServer } from './acme-server.ts';
import { hasDnsServer } from './dns-server.ts';
import { hasDockerEngine } from './docker-engine.ts';
import { hasMariaDb } from './mariadb-server.ts';
import { hasS3Server } from './s3-server.ts';
import { hasSmtpServer } from './smtp-server.ts';

const root = resolve(import.meta.dir, '..');
/** Some are not in the PATH of ordinary users. */
const has = (...programs: string[]) =>
  programs.every((name) => Bun.which(name) !== null || existsSync(join('/usr/sbin', name)));
const runs = (program: string, ...words: string[]) => spawnSync(program, words).status === 0;

/** Tests that need these are skipped without them, by the same conditions. */
const programs: Record<string, () => boolean> = {
  postgres: () => hasPostgres15,
  chromium: () => hasChromium,
  git: () => has('git'),
  s3: () => hasS3Server,
  dns: () => hasDnsServer,
  acme: () => hasAcmeServer,
  docker: () => hasDockerEngine,
  compose: () => has('docker-compose'),
  strace: () => has('strace'),
  smtp: () => hasSmtpServer,
  python: () => ['flask', 'django'].every((name) => existsSync(`/usr/lib/python3/dist-packages/${name}`)),
  mariadb: () => hasMariaDb,
  // The programs alone are not enough: the kernel may forbid what they do.
  bwrap: () => runs('bwrap', '--ro-bind', '/', '/', '--unshare-user', 'true'),
  pasta: () => has('pasta', 'ip', 'setpriv') && runs('unshare', '--mount', '--net', 'true'),
  systemd: () => has('systemd-nspawn', 'systemd-analyze', 'nsenter', 'useradd', 'curl', 'openssl'),
  nginx: () => has('nginx'),
  caddy: () => has('caddy'),
};
const words = (text: string) => text.split(' ').filter(Boolean);
const required = words(process.env.SVC_TEST_REQUIRE ?? '');

test.each(required)('%s, which SVC_TEST_REQUIRE names, is on this machine', (name) => {
  expect([name, programs[name]?.()]).toEqual([name, true]);
});

test('CI requires every program that tests are skipped without, and the guide for contributors names them', () => {
  for (const file of ['.ci/run', 'CONTRIBUTING.md']) {
    const [, list = ''] = /SVC_TEST_REQUIRE="([^"]*)"/.exec(readFileSync(join(root, file), 'utf8')) ?? [];
    expect([file, words(list).sort()]).toEqual([file, Object.keys(programs).sort()]);
  }
});
