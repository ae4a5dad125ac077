import type { Logger } from 'pino';
import type { Supervised } from '../supervisor/connect-supervisor.ts';
import { connectAgent } from './agent/connect-agent.ts';
import { createDockerRuntime, type DockerOptions } from './docker/docker-runtime.ts';
import { containerVariables } from './docker/start-instance.ts';
import type { ControlGroupsUse } from './process/control-groups.ts';
import { type BaseEnvironment, runEnvironment, runIdVariable } from './process/environment.ts';
import type { IsolationOptions } from './process/isolation.ts';
import { createProcessRuntime } from './process/process-runtime.ts';
import type { Runtime } from './runtime.ts';

export interface RuntimeConfig {
  kind: 'process' | 'docker';
  baseEnvironment: BaseEnvironment;
  toolchainDir: string;
  controlGroups: ControlGroupsUse;
  isolation: IsolationOptions;
  docker: DockerOptions;
}

export interface RuntimeOptions {
  runtime: RuntimeConfig;
  dataDir: string;
  supervised: Supervised | null;
}

export async function openRuntime(
  { runtime, dataDir, supervised }: RuntimeOptions,
  { log, installation, imageKey }: { log: Logger; installation: string; imageKey: () => string },
): Promise<Runtime> {
  switch (runtime.kind) {
    case 'process':
      return supervised?.agentSocket
        ? connectAgent(supervised.agentSocket, supervised.gatewayPort)
        : createProcessRuntime({ ...runtime, dataDir, log });
    case 'docker':
      return createDockerRuntime({ ...runtime, ...runtime.docker, dataDir, installation, imageKey, log });
  }
}

export function platformVariableNames({ kind }: Pick<Runtime, 'kind'>, names: readonly string[]): string[] {
  const job = Object.fromEntries(names.map((name) => [name, appValue]));
  const env = kind === 'process' ? processEnvironment(job) : containerEnvironment(job);
  return Object.keys(env).filter((name) => env[name] !== appValue);
}

const appValue = 'of the app';

function processEnvironment(job: Record<string, string>): Record<string, string> {
  const folders = { home: '', tmp: '' };
  return {
    [runIdVariable]: '',
    ...runEnvironment({ path: '', forBuilds: {} }, { job, folders, port: 0, preload: '' }),
  };
}

function containerEnvironment(job: Record<string, string>): Record<string, string> {
  const lines = containerVariables(job, 0).map((line) => line.split('=', 2) as [string, string]);
  return Object.fromEntries(lines);
}
