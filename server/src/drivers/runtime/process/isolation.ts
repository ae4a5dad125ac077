import { lookup } from 'node:dns/promises';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runProgram } from '../../os/processes.ts';
import { type AppUsers, chooseAppUsers } from './app-users.ts';
import { type ControlGroupsUse, type Controller, findHierarchies } from './control-groups.ts';
import type { BaseEnvironment } from './environment.ts';
import type { Egress } from './network.ts';
import {
  type Box,
  findMissingTools,
  openSandbox,
  type Sandbox,
  tryOut,
  writeSandboxFiles,
} from './sandbox.ts';
import { makeOwnFolder } from './trees.ts';

/** `preferred`: on the developer's own machine apps run without isolation where it is impossible. */
export type IsolationUse = 'required' | 'preferred' | 'none';

export interface Isolation {
  sandbox: Sandbox | null;
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
  { filesFolder, users, path }: { filesFolder: string; users: AppUsers; path: string },
): Promise<Isolation> {
  const without = { sandbox: null, findProblem: users.findProblem, warning: null, egress };
  if (use === 'none') return { ...without, warning: 'SVC_RUNTIME_ISOLATION=none is set.' };
  const problem = await findIsolationProblem({ users, path });
  if (problem === null) {
    return { ...without, sandbox: openSandbox({ filesFolder, path }), findProblem: () => null };
  }
  return use === 'required' ? { ...without, findProblem: () => problem } : { ...without, warning: problem };
}

async function findIsolationProblem({
  users,
  path,
}: {
  users: AppUsers;
  path: string;
}): Promise<string | null> {
  const missing = findMissingTools();
  if (missing !== null) return missing;
  const folder = await mkdtemp(join(tmpdir(), 'svc-sandbox-'));
  const user = users.ofBuilds(1);
  const tmp = join(folder, 'tmp');
  try {
    await makeOwnFolder(tmp, user);
    writeSandboxFiles(folder);
    const sandbox = openSandbox({ filesFolder: folder, path });
    return await tryOut(sandbox, {
      user,
      folders: [],
      tmp,
      port: null,
      hostPorts: [],
      egress: 'none',
      allowed: [],
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
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
    allowed: services.filter((it) => !isLoopback(it)).map(({ address }) => address),
  };
}

interface Facts {
  users: AppUsers;
  isolation: Pick<Isolation, 'findProblem' | 'warning'>;
  holds: ReadonlySet<Controller>;
  baseEnvironment: BaseEnvironment;
}

interface Check {
  ok: boolean;
  detail: string;
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
  if (problem !== null) return { ok: false, detail: problem };
  const who =
    isolation.warning === null
      ? 'Each app runs in its own sandbox'
      : `Apps run without isolation from this machine and from each other (${isolation.warning})`;
  const memory = holds.has('memory') ? 'by control groups' : 'checked every second';
  const cpu = holds.has('cpu') ? 'by control groups' : 'by priority only';
  const byUser = users.kind === 'own_each' ? 'limited by user' : 'not limited';
  const processes = holds.has('pids') ? 'by control groups' : byUser;
  const sentences = [`${who}; memory ${memory}, CPU ${cpu}, processes ${processes}; disk not limited.`];
  if (users.kind === 'own_each' && !areHardLinksProtected())
    sentences.push('Set fs.protected_hardlinks=1, so that builds cannot link to files of other users.');
  if (!(await hasNode(users, baseEnvironment)))
    sentences.push(`No node that apps can run was found in ${baseEnvironment.path}: Node.js apps will fail.`);
  return { ok: isolation.warning === null, detail: sentences.join(' ') };
}

async function hasNode(users: AppUsers, { path }: BaseEnvironment): Promise<boolean> {
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
