import { join } from 'node:path';
import { readConfigOrExit } from './config.ts';
import { createLog } from './core/log.ts';
import { serveAgent } from './drivers/runtime/agent/serve-agent.ts';
import { createProcessRuntime } from './drivers/runtime/process/process-runtime.ts';

// Started by the supervisor, ends with it. It alone has the rights to run apps as other users, and reads nothing from the network.
const config = readConfigOrExit(process.env);
const log = createLog({ level: config.logLevel, write: (line) => process.stderr.write(line) });
const { dataDir, supervised } = config;
for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => {});

async function start(): Promise<void> {
  if (!supervised?.agentSocket) throw new Error('The agent is started by npm start.');
  const agent = await serveAgent({
    runtime: await createProcessRuntime({ ...config.runtime, dataDir, log }),
    socketPath: supervised.agentSocket,
    workFolder: join(dataDir, 'runtime', 'work'),
    serverUser: supervised.serverUser,
    log,
  });
  process.send?.({ ready: true });
  let isClosing = false;
  const close = async () => {
    if (isClosing) return;
    isClosing = true;
    await agent.close().catch((error: unknown) => {
      log.error({ err: error }, 'the agent could not stop cleanly');
      process.exit(1);
    });
    process.exit(0);
  };
  for (const event of ['SIGTERM', 'disconnect']) process.on(event, () => void close());
}

start().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
