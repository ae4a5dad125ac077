import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './commands.ts';
import { temporaryFolder } from './server.ts';
import { until } from './until.ts';

const programs = ['systemd-nspawn', 'nsenter', 'useradd', 'curl', 'openssl'];
/** Why no systemd can be started here; null if it can. */
export const bootProblem =
  process.platform !== 'linux' || process.getuid?.() !== 0
    ? 'only root on Linux can start one'
    : (programs.find((name) => Bun.which(name) === null)?.concat(' is missing') ?? null);

/** It would wait for a network that there is not. */
const waitForNetwork = 'etc/systemd/system/systemd-networkd-wait-online.service';

export type BootedMachine = Awaited<ReturnType<typeof bootMachine>>;

/**
 * systemd as the first process of a container whose files are those of this machine; what is changed lies in a temporary
 * folder. Its network leads nowhere. `prepare` changes files before the start.
 */
export async function bootMachine(
  unit: string,
  { prepare, binds }: { prepare(root: string): Promise<void>; binds: Record<string, string> },
) {
  const folder = temporaryFolder();
  const part = (name: string) => {
    mkdirSync(join(folder, name), { recursive: true });
    return join(folder, name);
  };
  const root = part('root');
  const options = `lowerdir=/,upperdir=${part('upper')},workdir=${part('work')}`;
  await must('mount', '-t', 'overlay', 'overlay', '-o', options, root);
  const unmount = () => run(['umount', '--lazy', root]);
  try {
    // Machines with the same id are taken for one.
    await must('rm', '--force', join(root, 'etc/machine-id'));
    await must('ln', '--symbolic', '--force', '/dev/null', join(root, waitForNetwork));
    await prepare(root);
  } catch (error) {
    await unmount();
    throw error;
  }
  const log = join(folder, 'boot.log');
  const machine = Bun.spawn(
    [
      'systemd-nspawn',
      '--directory',
      root,
      '--machine',
      `svc-${process.pid}`,
      '--console=pipe',
      '--link-journal=no',
      '--register=no',
      '--keep-unit',
      '--private-network',
      ...Object.entries(binds).map(([from, to]) => `--bind=${from}:${to}`),
      '--boot',
      '--',
      `--unit=${unit}`,
    ],
    { stdin: 'ignore', stdout: Bun.file(log), stderr: Bun.file(log) },
  );
  const first = await until('systemd starts', async () => {
    if (machine.exitCode !== null) throw new Error(readFileSync(log, 'utf8'));
    const children = readFileSync(`/proc/${machine.pid}/task/${machine.pid}/children`, 'utf8').trim();
    const name = children && readFileSync(`/proc/${children}/comm`, 'utf8').trim();
    return name === 'systemd' && children;
  });
  return {
    root,
    /** Within the machine, as root. */
    run: (...command: string[]) =>
      run([...'nsenter --mount --uts --ipc --pid --net --target'.split(' '), first, '--', ...command]),
    async close() {
      machine.kill('SIGKILL');
      await machine.exited;
      await unmount();
    },
  };
}

async function must(...command: string[]): Promise<void> {
  const { code, stderr } = await run(command);
  if (code !== 0) throw new Error(`${command.join(' ')}: ${stderr}`);
}
