import { join } from 'node:path';
import { silentLog } from '../../testing.ts';
import type { ProcessRuntime, ProcessRuntimeOptions } from '../process/process-runtime.ts';
import { processWorld } from '../process/testing.ts';
import { connectAgent } from './connect-agent.ts';
import { type Agent, serveAgent } from './serve-agent.ts';

/** The runtime is opened once, in the agent; `open` connects to it. */
export function agentWorld({
  serverUser = null,
  ...overrides
}: Partial<ProcessRuntimeOptions> & { serverUser?: { uid: number; gid: number } | null } = {}) {
  const world = processWorld(overrides);
  const socketPath = join(world.dataDir, 'agent.sock');
  let agent: Agent | null = null;
  return {
    ...world,
    socketPath,
    sockets: [socketPath],
    whenClosed: 'kept' as const,
    async open() {
      agent ??= await serveAgent({
        runtime: (await world.open()) as ProcessRuntime,
        socketPath,
        workFolder: world.workDir,
        serverUser,
        log: silentLog,
      });
      return connectAgent(socketPath, null);
    },
    async close() {
      await agent?.close();
      await world.close();
    },
  };
}
