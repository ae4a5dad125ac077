import { beforeAll, describe, expect, test } from 'bun:test';
import { resolve } from 'node:path';
import { patientMs } from '../../../../../scripts/patience.ts';
import { hasVirtualMachine, runInVirtualMachine } from '../../../../../scripts/virtual-machine.ts';
import { temporaryFolder } from '../../database/testing.ts';

const repository = resolve(import.meta.dir, '../../../../..');
const file = './server/src/drivers/runtime/process/control-groups-v2-testing.ts';
const userId = 64_325;
const msMax = 20 * 60_000;

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
const bun = quoted(process.execPath.replace(repository, '/mnt'));

/** Each of the ways in which a server gets a group, and how many tests pass there. */
const servers = {
  root: { passed: 6, script: 'SVC_TEST_PARTS=apps run' },
  container: {
    passed: 6,
    script: `mkdir $groups/container && enter $groups/container
export -f run
SVC_TEST_PARTS=groups unshare --mount --cgroup /bin/bash -c "umount $groups && mount -t cgroup2 cgroup2 $groups && run"
enter $groups`,
  },
  // What systemd does for Delegate=yes.
  service: {
    passed: 10,
    script: `unit=$groups/system.slice/svc.service; mkdir -p $unit
for folder in $groups $groups/system.slice; do echo '+memory +cpu +pids' >$folder/cgroup.subtree_control; done
chown ${userId}:${userId} $unit $unit/cgroup.procs $unit/cgroup.threads $unit/cgroup.subtree_control
chmod 666 /dev/net/tun; enter $unit
as='setpriv --reuid ${userId} --regid ${userId} --clear-groups' SVC_TEST_CGROUP=own SVC_TEST_PARTS='groups apps' run`,
  },
};
type Server = keyof typeof servers;

const script = `export PATH=${quoted(process.env.PATH ?? '')} HOME=/tmp TMPDIR=/tmp SVC_TEST_FOLDER=/tmp NO_COLOR=1
export SVC_TEST_PATIENCE=${patientMs(6)}
mount --bind ${quoted(repository)} /mnt && mount -t tmpfs tmpfs /tmp && chmod 1777 /tmp && cd /mnt
# Without a route the sandbox of apps has no network to start from.
ip addr add 192.0.2.2/24 dev dummy0 && ip link set dummy0 up && ip route add default via 192.0.2.1
groups=/sys/fs/cgroup
enter() { echo $$ >"$1/cgroup.procs"; }
run() {
  $as ${bun} test --timeout=240000 ${file} 2>&1 | cat
  echo "the tests ended with \${PIPESTATUS[0]}"
}
${Object.entries(servers)
  .map(([name, server]) => `echo "server: ${name}"\n${server.script}`)
  .join('\n')}`;

describe.skipIf(!hasVirtualMachine)('control groups of version 2, on a kernel that has them', () => {
  const reports = new Map<string, string>();

  beforeAll(async () => {
    const folder = temporaryFolder();
    try {
      const { code, output } = await runInVirtualMachine(folder.path, { script, msMax });
      for (const part of output.split(/^server: /m)) reports.set(/^\w*/.exec(part)?.[0] ?? '', part);
      if (code === null) console.error(output);
    } finally {
      await folder.remove();
    }
  }, 2 * msMax);

  test.each<[string, Server]>([
    ['limit apps for a server of root, at the root of all groups', 'root'],
    ['are made, limited and removed by root in a container', 'container'],
    ['do both for an ordinary user, in the group that systemd gave it', 'service'],
  ])('%s', (_, name) => {
    const report = reports.get(name) ?? '';
    const code = /^the tests ended with (\d+)$/m.exec(report)?.[1];
    if (code !== '0') console.error(report);
    expect([code, report.match(/^\(fail\).*$/gm)]).toEqual(['0', null]);
    expect(Number(/^ (\d+) pass$/m.exec(report)?.[1])).toBe(servers[name].passed);
  });
});
