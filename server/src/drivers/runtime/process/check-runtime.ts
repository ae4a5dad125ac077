import { readFileSync } from 'node:fs';
import { runProgram } from '../../database/run-program.ts';
import { type AppUsers, chooseAppUsers } from './app-users.ts';
import type { ControlGroupsUse } from './control-groups.ts';
import type { Surroundings } from './environment.ts';
import { type Controller, findHierarchies } from './hierarchies.ts';

interface Facts {
  users: AppUsers;
  holds: ReadonlySet<Controller>;
  surroundings: Surroundings;
}

type Answer = Promise<{ ok: boolean; detail: string }>;

/** Beside a server that may run: looks, and takes nothing up. */
export function checkProcessRuntime(options: {
  dataDir: string;
  surroundings: Surroundings;
  controlGroups: ControlGroupsUse;
}): Answer {
  const { dataDir, surroundings, controlGroups: use } = options;
  const users = chooseAppUsers({ folder: dataDir, isRoot: process.getuid?.() === 0 });
  const found = use === 'none' ? [] : findHierarchies(use, 'look');
  return checkRuntime({ users, surroundings, holds: new Set(found.flatMap(({ holds }) => holds)) });
}

/** For the operator: whether apps can be run here, as whom, and what holds them to their limits. */
export async function checkRuntime({ users, holds, surroundings }: Facts): Answer {
  const obstacle = users.obstacle();
  if (obstacle !== null) return { ok: false, detail: obstacle };
  const who =
    users.kind === 'own_each'
      ? 'Each app runs as a user of its own'
      : 'Apps run as the user of the server and are not kept from its files or from one another';
  const memory = holds.has('memory') ? 'by control groups' : 'looked at every second';
  const cpu = holds.has('cpu') ? 'by control groups' : 'by priority only';
  const byUser = users.kind === 'own_each' ? 'counted by user' : 'not limited';
  const processes = holds.has('pids') ? 'by control groups' : byUser;
  const said = [`${who}; memory ${memory}, CPU ${cpu}, processes ${processes}; disk is not limited.`];
  if (users.kind === 'own_each' && !areHardLinksProtected())
    said.push('Set fs.protected_hardlinks=1, so that no build links to files of others.');
  if (!(await hasNode(users, surroundings)))
    said.push(`No node that apps could run was found in ${surroundings.path}: apps of Node.js will fail.`);
  return { ok: true, detail: said.join(' ') };
}

async function hasNode(users: AppUsers, { path }: Surroundings): Promise<boolean> {
  if (process.platform === 'win32') return true;
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
