import { readFileSync } from 'node:fs';
import { runProgram } from '../../os/processes.ts';
import { type AppUsers, chooseAppUsers } from './app-users.ts';
import type { ControlGroupsUse } from './control-groups.ts';
import type { BaseEnvironment } from './environment.ts';
import { type Controller, findHierarchies } from './hierarchies.ts';
import { type Isolation, type IsolationOptions, openIsolation, tryInSandbox } from './isolation.ts';

interface Facts {
  users: AppUsers;
  isolation: Pick<Isolation, 'findProblem' | 'warning' | 'sandbox'>;
  holds: ReadonlySet<Controller>;
  baseEnvironment: BaseEnvironment;
}

interface Check {
  ok: boolean;
  detail: string;
  /** No app is built or started. */
  isRefused?: boolean;
}

export async function checkProcessRuntime(options: {
  dataDir: string;
  baseEnvironment: BaseEnvironment;
  controlGroups: ControlGroupsUse;
  isolation: IsolationOptions;
}): Promise<Check> {
  const { dataDir, baseEnvironment, controlGroups: use } = options;
  const users = chooseAppUsers({ folder: dataDir, isRoot: process.getuid?.() === 0 });
  const found = use === 'none' ? [] : findHierarchies(use, 'look');
  const isolation = await openIsolation(options.isolation, {
    filesFolder: dataDir,
    users,
    path: baseEnvironment.path,
  });
  return checkRuntime({
    users,
    isolation,
    baseEnvironment,
    holds: new Set(found.flatMap(({ holds }) => holds)),
  });
}

export async function checkRuntime({ users, isolation, holds, baseEnvironment }: Facts): Promise<Check> {
  const problem = isolation.findProblem();
  if (problem !== null) return { ok: false, isRefused: true, detail: problem };
  const who =
    isolation.warning === null
      ? 'Each app runs in its own sandbox'
      : `Apps run without isolation from this machine and from each other (${isolation.warning})`;
  const memory = holds.has('memory') ? 'by control groups' : 'checked every second';
  const cpu = holds.has('cpu') ? 'by control groups' : 'by priority only';
  const byUser = users.kind === 'own_each' || isolation.sandbox ? 'limited by user' : 'not limited';
  const processes = holds.has('pids') ? 'by control groups' : byUser;
  const sentences = [
    `${who}; memory ${memory}, CPU ${cpu}, processes ${processes}, disk space measured every second.`,
  ];
  if (users.kind === 'own_each' && !areHardLinksProtected())
    sentences.push('Set fs.protected_hardlinks=1, so that builds cannot link to files of other users.');
  if (!(await hasNode(users, isolation, baseEnvironment)))
    sentences.push(`No node that apps can run was found in ${baseEnvironment.path}: Node.js apps will fail.`);
  return { ok: isolation.warning === null, detail: sentences.join(' ') };
}

async function hasNode(
  users: AppUsers,
  { sandbox }: Pick<Isolation, 'sandbox'>,
  { path }: BaseEnvironment,
): Promise<boolean> {
  if (process.platform === 'win32') return true;
  if (sandbox) return (await tryInSandbox({ users, path }, 'node', '--version')).status === 0;
  const prefix = users.kind === 'own_each' ? users.prefix(users.ofInstance(1)) : [];
  const [program = '', ...args] = [...prefix, '/bin/sh', '-c', 'command -v node && node --version'];
  const { status } = await runProgram(program, args, { cwd: '/', env: { PATH: path } });
  return status === 0;
}

function areHardLinksProtected(): boolean {
  try {
    return readFileSync('/proc/sys/fs/protected_hardlinks', 'utf8').trim() === '1';
  } catch {
    return true;
  }
}
