import { expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '../server/src/config.ts';
import { guideExamples } from './guide-examples.ts';

const root = join(import.meta.dir, '..');
const examples = (language: string) => guideExamples('production.md', language);
const unit = readFileSync(join(root, 'deploy/svc.service'), 'utf8');
const [rootDropIn = ''] = examples('ini');

/** Settings by name; an empty value removes those before it, as in systemd. */
function settings(...texts: string[]): Record<string, string[]> {
  const found: Record<string, string[]> = {};
  for (const [, name = '', value = ''] of texts.join('\n').matchAll(/^(\w+)=(.*)$/gm))
    found[name] = value === '' ? [] : [...(found[name] ?? []), value];
  return found;
}

test('the variables of the guide are valid, and are those of the unit and the proxies', () => {
  const text = examples('sh').find((block) => block.includes('SVC_LISTEN')) ?? '';
  const env = Object.fromEntries(
    [...text.matchAll(/^(\w+)=(.*)$/gm)].map(([, name, value]) => [name, value]),
  );
  const config = readConfig(env);
  expect([config.socket, config.baseUrl]).toEqual(['/run/svc/svc.sock', 'https://svc.example.com']);
  expect(unit).toContain(`StateDirectory=${config.dataDir.slice('/var/lib/'.length)}`);
  for (const [proxy, socket] of [
    [examples('caddyfile')[0], `unix/${config.socket}`],
    [examples('nginx')[0], `unix:${config.socket}`],
  ])
    for (const part of [socket, 'svc.example.com', `*.${config.appsDomain}`]) expect(proxy).toContain(part);
});

test('the unit starts what npm start starts, and the folder of the socket belongs to the user of the server', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const own = settings(unit);
  expect([own.ExecStart]).toEqual([[scripts.start.replace('exec sh', '/bin/sh')]]);
  expect(own.ExecStartPre).toEqual(['+/usr/bin/install -d -o svc -g caddy -m 2750 /run/svc']);
  const asRoot = settings(unit, rootDropIn);
  expect(asRoot.ExecStartPre).toEqual(['/usr/bin/install -d -o svc-postgres -g caddy -m 2750 /run/svc']);
  // With these there are no namespaces for apps.
  expect(
    Object.keys(asRoot).filter((name) => /NoNewPriv|Restrict|PrivateDev|PrivateUsers|Kernel/.test(name)),
  ).toEqual([]);
});

test.if(Bun.which('systemd-analyze') !== null)(
  'systemd accepts the unit, with and without the part for root',
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-unit-'));
    try {
      // The folder of the guide is not on every machine.
      const here = (text: string) => text.replaceAll('/opt/svc', root);
      writeFileSync(join(folder, 'svc.service'), here(unit));
      expect(verify(folder)).toEqual('');
      mkdirSync(join(folder, 'svc.service.d'));
      writeFileSync(join(folder, 'svc.service.d', 'root.conf'), here(rootDropIn));
      expect(verify(folder)).toEqual('');
      writeFileSync(join(folder, 'svc.service'), here(unit).replace('KillMode=mixed', 'KillMode=gentle'));
      expect(verify(folder)).toContain('gentle');
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
);

/** What systemd has to say about the unit. */
function verify(folder: string): string {
  const unitFile = join(folder, 'svc.service');
  const { stderr } = Bun.spawnSync(['systemd-analyze', 'verify', '--man=no', unitFile]);
  return stderr
    .toString()
    .split('\n')
    .filter((line) => line.includes('svc.service') || line.includes('root.conf'))
    .join('\n');
}

test.if(Bun.which('caddy') !== null)('Caddy accepts its example', () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-caddy-'));
  writeFileSync(join(folder, 'Caddyfile'), examples('caddyfile')[0] ?? '');
  const { exitCode, stdout, stderr } = Bun.spawnSync(
    ['caddy', 'adapt', '--config', join(folder, 'Caddyfile'), '--adapter', 'caddyfile'],
    { env: { PATH: process.env.PATH ?? '', HOME: folder } },
  );
  rmSync(folder, { recursive: true });
  expect([exitCode, stderr.toString()]).toEqual([0, expect.not.stringContaining('error')]);
  expect(stdout.toString()).toContain('"dial":"unix//run/svc/svc.sock"');
});

test.if(Bun.which('docker-compose') !== null)('the compose file needs the variables of its example', () => {
  const example = readFileSync(join(root, 'deploy/env.example'), 'utf8');
  const env = Object.fromEntries(
    [...example.matchAll(/^(\w+)=(.*)$/gm)].map(([, name, value]) => [name, value || 'secret']),
  );
  const config = (variables: Record<string, string>) =>
    Bun.spawnSync(['docker-compose', '--file', join(root, 'deploy/compose.yaml'), 'config', '--quiet'], {
      env: { PATH: process.env.PATH ?? '', ...variables },
    });
  expect(config(env).stderr.toString()).toBe('');
  expect(config({}).exitCode).not.toBe(0);
});
