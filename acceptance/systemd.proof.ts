import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { guideExamples } from '../scripts/guide-examples.ts';
import { type BootedMachine, bootMachine, bootProblem } from './support/booted-machine.ts';
import { run } from './support/commands.ts';
import { hasNginx } from './support/reverse-proxies.ts';
import { root, temporaryFolder } from './support/server.ts';
import { until } from './support/until.ts';

const [nginx = ''] = guideExamples('production.md', 'nginx');
const variables = guideExamples('production.md', 'sh').find((block) => block.includes('SVC_LISTEN')) ?? '';

describe.skipIf(bootProblem !== null || !hasNginx)('systemd with the unit and nginx of the guide', () => {
  let machine: BootedMachine;

  beforeAll(async () => {
    const tun = join(temporaryFolder(), 'tun');
    await run(['mknod', '-m', '666', tun, 'c', '10', '200']);
    machine = await bootMachine('basic.target', {
      binds: { [root]: '/opt/svc', [tun]: '/dev/net/tun' },
      async prepare(files) {
        await run(['useradd', '--root', files, '--system', '--home-dir', '/var/lib/svc', 'svc']);
        for (const folder of ['etc/svc', 'opt/svc']) mkdirSync(join(files, folder), { recursive: true });
        writeFileSync(join(files, 'etc/svc/svc.env'), variables);
        const unit = join(files, 'etc/systemd/system/svc.service');
        cpSync(join(root, 'deploy/svc.service'), unit);
        // As the guide says for nginx.
        await run(['sed', '-i', 's/-g caddy/-g www-data/', unit]);
        const key = ['-newkey', 'rsa:2048', '-nodes', '-keyout', join(files, 'etc/svc/privkey.pem')];
        const certificate = ['-out', join(files, 'etc/svc/fullchain.pem'), '-days', '2'];
        const names = [
          '-subj',
          '/CN=svc',
          '-addext',
          'subjectAltName=DNS:svc.example.com,DNS:*.example-apps.com',
        ];
        await run(['openssl', 'req', '-x509', ...key, ...certificate, ...names]);
        await run(['rm', '--force', join(files, 'etc/nginx/sites-enabled/default')]);
        writeFileSync(join(files, 'etc/nginx/conf.d/svc.conf'), nginx);
      },
    });
    // Without a route the sandbox of apps has no network to start from.
    for (const command of [
      'ip link add svc0 type veth peer name svc1',
      'ip addr add 192.0.2.2/24 dev svc0',
      'ip link set svc1 up',
      'ip link set svc0 up',
      'ip route add default via 192.0.2.1',
    ])
      expect([command, (await machine.run(...command.split(' '))).stderr]).toEqual([command, '']);
    await until('systemd starts units', async () => {
      const { code } = await machine.run('systemctl', 'start', 'svc', 'nginx');
      return code === 0;
    });
    await until(
      'the server answers through nginx',
      async () => (await ask('/readyz')).startsWith('200'),
      60_000,
    );
  });
  afterAll(() => machine?.close());

  /** Status and body. */
  async function ask(path: string, host = 'svc.example.com'): Promise<string> {
    const names = ['--resolve', `${host}:443:127.0.0.1`, '--cacert', '/etc/svc/fullchain.pem'];
    const { stdout } = await machine.run(
      'curl',
      '--silent',
      '--max-time',
      '10',
      ...names,
      '--write-out',
      '\n%{http_code}',
      `https://${host}${path}`,
    );
    const lines = stdout.split('\n');
    return `${lines.at(-1)} ${lines.slice(0, -1).join('\n')}`;
  }

  const property = async (name: string) =>
    (await machine.run('systemctl', 'show', 'svc', '--value', '--property', name)).stdout.trim();

  test('runs the server as its user, behind a socket for the group of nginx', async () => {
    expect([await property('ActiveState'), await property('User')]).toEqual(['active', 'svc']);
    const { stdout } = await machine.run('stat', '-c', '%U %G %a', '/run/svc', '/run/svc/svc.sock');
    expect(stdout.trim().split('\n')).toEqual(['svc www-data 2750', 'svc www-data 660']);
    const pid = await property('MainPID');
    expect((await machine.run('ps', '-o', 'user=', '-p', pid)).stdout.trim()).toBe('svc');
  });

  test('serves the platform and the domain of apps over https', async () => {
    expect(await ask('/api/v1/version')).toStartWith('200 ');
    expect(await ask('/', 'shop.example-apps.com')).toStartWith('401 ');
    const others = await machine.run('setpriv', '--reuid', 'nobody', '--clear-groups', 'ls', '/run/svc');
    expect(others.code).not.toBe(0);
  });

  test('gives apps their sandbox, says svc-admin doctor', async () => {
    const { stdout } = await machine.run(
      'setpriv',
      '--reuid',
      'svc',
      '--regid',
      'svc',
      '--clear-groups',
      '/bin/sh',
      '-c',
      'cd /opt/svc; set -a; . /etc/svc/svc.env; ./svc-admin doctor --json',
    );
    const { checks } = JSON.parse(stdout) as { checks: { name: string; status: string; detail: string }[] };
    expect(checks.filter(({ status }) => status === 'problem')).toEqual([]);
    // systemd gives control groups of version 1 to no ordinary user.
    const unified = await machine.run('grep', '-qw', 'memory', '/sys/fs/cgroup/cgroup.controllers');
    const [status, text] =
      unified.code === 0
        ? ['ok', 'memory by control groups, CPU by control groups']
        : ['warning', 'the server owns no control group'];
    expect(checks.find(({ name }) => name === 'runtime')).toMatchObject({
      status,
      detail: expect.stringMatching(new RegExp(`^Each app runs in its own sandbox; .*${text}`)),
    });
  });

  test('reloads the server and nothing else', async () => {
    const agents = async () =>
      (await machine.run('pgrep', '-f', 'server/src/start.ts|/agent[.][jt]s$')).stdout;
    const servers = async () => (await machine.run('pgrep', '-f', '/main[.][jt]s$')).stdout.trim();
    const [agentsBefore, before] = [await agents(), await servers()];
    expect((await machine.run('systemctl', 'reload', 'svc')).code).toBe(0);
    await until(
      'another server runs',
      async () => {
        const now = await servers();
        return now !== '' && now !== before && (await ask('/readyz')).startsWith('200');
      },
      60_000,
    );
    expect(await agents()).toBe(agentsBefore);
  });

  test('starts it again after a crash, and stops it in order', async () => {
    const before = await property('MainPID');
    await machine.run('systemctl', 'kill', '--signal=KILL', 'svc');
    await until(
      'systemd starts the server again',
      async () => {
        const isOther = ![before, '0'].includes(await property('MainPID'));
        return isOther && (await ask('/readyz')).startsWith('200');
      },
      60_000,
    );
    expect((await machine.run('systemctl', 'stop', 'svc')).code).toBe(0);
    expect([await property('ActiveState'), await property('Result')]).toEqual(['inactive', 'success']);
    expect((await machine.run('pgrep', '-u', 'svc')).stdout).toBe('');
  });
});
