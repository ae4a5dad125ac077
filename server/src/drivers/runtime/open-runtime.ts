import type { Logger } from 'pino';
import type { Config } from '../../config.ts';
import { createDockerRuntime } from './docker/docker-runtime.ts';
import { createProcessRuntime } from './process/process-runtime.ts';
import type { Runtime } from './runtime.ts';

/** What apps are built and run by, as `SVC_RUNTIME` says. */
export async function openRuntime(
  { runtime, dataDir }: Pick<Config, 'runtime' | 'dataDir'>,
  { log, installation, imageKey }: { log: Logger; installation: string; imageKey: string },
): Promise<Runtime> {
  switch (runtime.kind) {
    case 'process':
      return createProcessRuntime({ ...runtime, dataDir, log });
    case 'docker':
      return createDockerRuntime({ ...runtime, ...runtime.docker, dataDir, installation, imageKey, log });
  }
}
