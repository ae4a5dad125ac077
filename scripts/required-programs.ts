import { expect, test } from 'bun:test';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { hasChromium } from '../acceptance/support/chromium.ts';
import { hasPostgres15 } from '../acceptance/support/postgres15.ts';
import { hasAcmeServer } from './acme-server.ts';
import { hasDnsServer } from './dns-server.ts';
import { hasSwarm } from './docker-swarm.ts';
import { hasMariaDb } from './mariadb-server.ts';
import { hasS3Server } from './s3-server.ts';
import { hasSmtpServer } from './smtp-server.ts';
import { hasVirtualMachine } from './virtual-machine.ts';

/** Some are not in the PATH of ordinary users. */
const has = (...programs: string[]) =>
  programs.every((name) => Bun.which(name) !== null || existsSync(join('/usr/sbin', name)));
const runs = (program: string, ...words: string[]) => spawnSync(program, words).status === 0;

/** Tests that need these are skipped without them, by the same conditions. */
export const programs: Record<string, () => boolean> = {
  postgres: () => hasPostgres15,
  chromium: () => hasChromium,
  git: () => has('git'),
  s3: () => hasS3Server,
  dns: () => hasDnsServer,
  acme: () => hasAcmeServer,
  docker: () => hasSwarm,
  compose: () => has('docker-compose'),
  strace: () => has('strace'),
  smtp: () => hasSmtpServer,
  python: () =>
    ['flask', 'django', 'fastapi', 'uvicorn', 'multipart', 'gunicorn'].every((name) =>
      existsSync(`/usr/lib/python3/dist-packages/${name}`),
    ),
  mariadb: () => hasMariaDb,
  // The programs alone are not enough: the kernel may forbid what they do.
  bwrap: () => runs('bwrap', '--ro-bind', '/', '/', '--unshare-user', 'true'),
  pasta: () => has('pasta', 'ip', 'setpriv') && runs('unshare', '--mount', '--net', 'true'),
  systemd: () => has('systemd-nspawn', 'systemd-analyze', 'nsenter', 'useradd', 'curl', 'openssl'),
  nginx: () => has('nginx'),
  caddy: () => has('caddy'),
  qemu: () => process.arch !== 'x64' || hasVirtualMachine,
};
export const words = (text: string) => text.split(' ').filter(Boolean);

/** Where a program is required, its tests must not be skipped: not those of `npm test`, and not the proofs. */
export function requiredPrograms(): void {
  test('every program that SVC_TEST_REQUIRE names is on this machine', () => {
    const required = words(process.env.SVC_TEST_REQUIRE ?? '');
    expect(required.filter((name) => !programs[name]?.())).toEqual([]);
  });
}
