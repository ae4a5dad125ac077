import type { Logger } from 'pino';
import type { Config } from '../../config.ts';
import { createProcessRuntime } from './process/process-runtime.ts';
import type { Runtime } from './runtime.ts';

/** What apps are built and run by, as `SVC_RUNTIME` says. */
export async function openRuntime(
  { runtime, dataDir }: Pick<Config, 'runtime' | 'dataDir'>,
  { log }: { log: Logger },
): Promise<Runtime> {
  switch (runtime.kind) {
    case 'process':
      return createProcessRuntime({ ...runtime, dataDir, log });
    case 'docker':
      // Here: return createDockerRuntime({ ...runtime, dataDir, log }), of docker/docker-runtime.ts.
      throw new Error('SVC_RUNTIME=docker is not there yet.');
  }
}
