import { lookup } from 'node:dns/promises';
import { existsSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tryReadText } from '../../os/files.ts';
import { runProgram } from '../../os/processes.ts';
import { type AppUsers, chooseAppUsers } from './app-users.ts';
import { type ControlGroupsUse, type Controller, findHierarchies } from './control-groups.ts';
import type { BaseEnvironment } from './environment.ts';
import { findRunningNode } from './folders.ts';
import type { Egress } from './network.ts';
import {
  type Box,
  findMissingTools,
  openSandbox,
  runInSandbox,
  type Sandbox,
  writeSandboxFiles,
} from './sandbox.ts';
import { makeOwnFolder, removeTree } from './trees.ts';

/** `preferred`: on the developer's own machine apps run without isolation where it is impossible. */
export type IsolationUse = 'required' | 'preferred' | 'none';

export interface Isolation {
  sandbox: Sandbox | null;
  /** Whether apps in the sandbox can change an overlay of their files. */
  hasOverlay: boolean;
  /** Why apps are refused. */
  findProblem(): string | null;
  /** Why apps run without isolation. */
  warning: string | null;
  egress: Egress;
}

export interface IsolationOptions {
  use: IsolationUse;
  egress: Egress;
  /** Where the platform accepts requests of apps, which cannot connect to its other ports. */
  gatewayPort: number | null;
}

export async function openIsolation(
  { use, egress }: IsolationOptions,
  { filesFolder, users, path, dir }: SandboxOptions & { filesFolder: string },
): Promise<Isolation> {
  const without = {
    sandbox: null,
    hasOverlay: false,
    findProblem: users.findProblem,
    warning: null,
    egress,
  };
  if (use === 'none') return { ...without, warning: 'SVC_RUNTIME_ISOLATION=none is set.' };
  const { problem, hasOverlay } = await tryIsolation({ users, path, dir });
  if (problem === null) {
    const sandbox = openSandbox({ filesFolder, path });
    return { ...without, sandbox, hasOverlay, findProblem: () => null };
  }
  return use === 'required' ? { ...without, findProblem: () => problem } : { ...without, warning: problem };
}

async function tryIsolation(
  options: SandboxOptions,
): Promise<{ problem: string | null; hasOverlay: boolean }> {
  const missing = findMissingTools();
  if (missing !== null) return { problem: missing, hasOverlay: false };
  const write = `touch ${overlayInside}/written 2>/dev/null || exit ${readOnlyExit}`;
  const { status, output } = await tryInSandbox(options, 'sh', '-c', write);
  const isIsolated = status === 0 || status === readOnlyExit;
  return {
    problem: isIsolated
      ? null
      : `Apps cannot be isolated on this machine: ${explainRefusal(output) ?? output.slice(-300)}`,
    hasOverlay: status === 0,
  };
}

/** What kernels and containers forbid, with how to allow it. */
export function explainRefusal(output: string, readSetting = readKernelSetting): string | null {
  if (/tun socket/.test(output))
    return existsSync(tunDevice)
      ? `only root can open ${tunDevice}. Run chmod 666 ${tunDevice}.`
      : `${tunDevice} is missing. Run modprobe tun; a container needs --device ${tunDevice}.`;
  if (/routable interface|default route/.test(output))
    return 'it has no default route for IPv4, which the network of a sandbox starts from. Add one with ip route add default.';
  const refusing = refusingSettings.find(({ name, value }) => readSetting(name) === value);
  return refusing ? `${refusing.text} Run sysctl -w ${refusing.name}=${refusing.allows}.` : null;
}

const tunDevice = '/dev/net/tun';
const refusingSettings = [
  {
    name: 'user.max_user_namespaces',
    value: '0',
    allows: 10_000,
    text: 'its kernel allows no user namespaces.',
  },
  {
    name: 'kernel.unprivileged_userns_clone',
    value: '0',
    allows: 1,
    text: 'its kernel allows user namespaces for root alone.',
  },
  {
    name: 'kernel.apparmor_restrict_unprivileged_userns',
    value: '1',
    allows: 0,
    text: 'AppArmor takes their rights from user namespaces.',
  },
];

function readKernelSetting(name: string): string | null {
  return tryReadText(join('/proc/sys', ...name.split('.')))?.trim() ?? null;
}

const overlayInside = '/overlay';
const readOnlyExit = 79;

interface SandboxOptions {
  users: AppUsers;
  path: string;
  /** For the trial: the file system decides whether it can hold the changes of an overlay. */
  dir?: string;
}

/** Runs a program as apps run, because only that shows whether the kernel allows it. */
async function tryInSandbox({ users, path, dir = tmpdir() }: SandboxOptions, ...program: string[]) {
  const folder = await mkdtemp(join(dir, 'svc-sandbox-'));
  const user = users.ofBuilds(1);
  const [tmp, tree, changes] = [join(folder, 'tmp'), join(folder, 'tree'), join(folder, 'changes')];
  const overlay = ['upper', 'work', 'merged'].map((name) => join(changes, name));
  try {
    for (const each of [tmp, tree, changes, ...overlay]) await makeOwnFolder(each, user);
    writeSandboxFiles(folder);
    const sandbox = openSandbox({ filesFolder: folder, path });
    const folders = [{ path: tree, inside: overlayInside, isWritable: false, changes }];
    const box: Box = { user, folders, tmp, port: null, hostPorts: [], egress: 'none', allowed: [] };
    return await runInSandbox(sandbox, box, ['/bin/sh', '-c', 'PATH=$0; "$@"', sandbox.path, ...program]);
  } finally {
    await removeTree(folder);
  }
}

const standardPorts: Record<string, number> = { 'https:': 443, 'postgres:': 5432, 'postgresql:': 5432 };

/** The addresses of services, which may be on this machine or in a private network. */
export async function resolveServices(
  texts: readonly string[],
): Promise<{ address: string; port: number }[]> {
  const urls = texts.flatMap((text) => URL.parse(text) ?? []).filter(({ hostname }) => hostname !== '');
  const found = await Promise.all(
    urls.map(async (url) => {
      const port = Number(url.port) || (standardPorts[url.protocol] ?? 80);
      const addresses = await lookup(url.hostname, { family: 4, all: true }).catch(() => []);
      return addresses.map(({ address }) => ({ address, port }));
    }),
  );
  return found.flat();
}

export const isLoopback = ({ address }: { address: string }) => address.startsWith('127.');

export async function findServices(texts: readonly string[]): Promise<Pick<Box, 'hostPorts' | 'allowed'>> {
  const services = await resolveServices(texts);
  return {
    // pasta refuses a port that is named twice.
    hostPorts: [...new Set(services.filter(isLoopback).map(({ port }) => port))],
    allowed: services.filter((it) => !isLoopback(it)),
  };
}

interface Facts {
  users: AppUsers;
  isolation: Pick<Isolation, 'findProblem' | 'warning' | 'sandbox'>;
  holds: ReadonlySet<Controller>;
  controlGroups: ControlGroupsUse;
  baseEnvironment: BaseEnvironment;
}

interface Check {
  ok: boolean;
  detail: string;
  /** No app is built or started. */
  isRefused?: boolean;
  /** Apps run without isolation. */
  isOpen?: boolean;
}

export async function checkProcessRuntime(options: {
  dataDir: string;
  baseEnvironment: BaseEnvironment;
  controlGroups: ControlGroupsUse;
  isolation: IsolationOptions;
}): Promise<Check> {
  const { dataDir, baseEnvironment, controlGroups } = options;
  const users = chooseAppUsers({ folder: dataDir, isRoot: process.getuid?.() === 0 });
  // A command of the operator is in another group than the server.
  const server = findRunningNode(dataDir);
  const found =
    controlGroups === 'none'
      ? []
      : findHierarchies(controlGroups, 'look', server === null ? undefined : `/proc/${server.pid}`);
  const isolation = await openIsolation(options.isolation, {
    filesFolder: dataDir,
    users,
    path: baseEnvironment.path,
  });
  return checkRuntime({
    users,
    isolation,
    baseEnvironment,
    controlGroups,
    holds: new Set(found.flatMap(({ holds }) => holds)),
  });
}

export async function checkRuntime(facts: Facts): Promise<Check> {
  const { users, isolation, holds, controlGroups, baseEnvironment } = facts;
  const problem = isolation.findProblem();
  if (problem !== null) return { ok: false, isRefused: true, detail: problem };
  const who =
    isolation.warning === null
      ? 'Each app runs in its own sandbox'
      : `Apps run without isolation from this machine and from each other (${isolation.warning})`;
  const memory = holds.has('memory') ? 'by control groups' : 'checked every second';
  const cpu = holds.has('cpu') ? 'by control groups' : 'by pauses';
  const byUser = users.kind === 'own_each' || isolation.sandbox ? 'limited by user' : 'not limited';
  const processes = holds.has('pids') ? 'by control groups' : byUser;
  const sentences = [
    `${who}; memory ${memory}, CPU ${cpu}, processes ${processes}, disk space measured every second.`,
  ];
  if (users.kind === 'own_each' && !areHardLinksProtected())
    sentences.push('Set fs.protected_hardlinks=1, so that builds cannot link to files of other users.');
  if (!(await hasNode(users, isolation, baseEnvironment)))
    sentences.push(`No node that apps can run was found in ${baseEnvironment.path}: Node.js apps will fail.`);
  const isOpen = isolation.warning !== null;
  const lacksGroup = controlGroups === 'own' && holds.size === 0;
  if (lacksGroup) sentences.push(noControlGroup);
  return { ok: !isOpen && !lacksGroup, isOpen, detail: sentences.join(' ') };
}

export const noControlGroup =
  'SVC_CGROUP=own is set, but the server owns no control group: start it by a systemd unit with Delegate=yes on a machine with cgroup v2, or unset it.';

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
  return (readKernelSetting('fs.protected_hardlinks') ?? '1') === '1';
}
