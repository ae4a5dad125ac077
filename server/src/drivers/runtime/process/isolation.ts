import { lookup } from 'node:dns/promises';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AppUsers } from './app-users.ts';
import type { Egress } from './network.ts';
import {
  type Box,
  findMissingTools,
  openSandbox,
  runInSandbox,
  type Sandbox,
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

async function findIsolationProblem(options: SandboxOptions): Promise<string | null> {
  const missing = findMissingTools();
  if (missing !== null) return missing;
  const { status, output } = await tryInSandbox(options, 'true');
  return status === 0 ? null : `Apps cannot be isolated on this machine: ${output.slice(0, 300)}`;
}

interface SandboxOptions {
  users: AppUsers;
  path: string;
}

/** Runs a program as apps run, because only that shows whether the kernel allows it. */
export async function tryInSandbox({ users, path }: SandboxOptions, ...program: string[]) {
  const folder = await mkdtemp(join(tmpdir(), 'svc-sandbox-'));
  const user = users.ofBuilds(1);
  const tmp = join(folder, 'tmp');
  try {
    await makeOwnFolder(tmp, user);
    writeSandboxFiles(folder);
    const sandbox = openSandbox({ filesFolder: folder, path });
    const box: Box = { user, folders: [], tmp, port: null, hostPorts: [], egress: 'none', allowed: [] };
    return await runInSandbox(sandbox, box, ['/usr/bin/env', `PATH=${sandbox.path}`, ...program]);
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
