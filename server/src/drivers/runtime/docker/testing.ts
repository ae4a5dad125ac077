import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type DockerEngine, startDockerEngine } from '../../../../../scripts/docker-engine.ts';
import { temporaryFolder } from '../../database/testing.ts';
import { silentLog } from '../../testing.ts';
import type { RuntimeWorld } from '../conformance.ts';
import { readBaseEnvironment } from '../process/environment.ts';
import { processSample } from '../process/testing.ts';
import { createDockerRuntime, type DockerRuntimeOptions } from './docker-runtime.ts';

export interface DockerWorld extends RuntimeWorld {
  engine: DockerEngine;
  dataDir: string;
  optionsOf(dataDir: string): DockerRuntimeOptions;
}

export async function dockerWorld(kind: 'single' | 'swarm'): Promise<DockerWorld> {
  const folder = temporaryFolder();
  const engine = await startDockerEngine(join(folder.path, 'engine'), { swarm: kind === 'swarm' });
  const dataDir = join(folder.path, 'data');
  mkdirSync(dataDir);
  const optionsOf = (of: string): DockerRuntimeOptions => ({
    host: engine.host,
    baseImage: engine.baseImage,
    address: engine.address,
    network: null,
    swarm: 'trusted-network' as const,
    imageKey: () => 'of-a-test',
    dataDir: of,
    installation: 'a-test',
    log: silentLog,
    baseEnvironment: readBaseEnvironment({ PATH: process.env.PATH }),
  });
  return {
    engine,
    dataDir,
    optionsOf,
    workDir: join(dataDir, 'work'),
    open: () => createDockerRuntime(optionsOf(dataDir)),
    sample: processSample,
    whenClosed: 'kept',
    givesUp: 'late',
    async close() {
      await engine.stop();
      await folder.remove();
    },
  };
}
