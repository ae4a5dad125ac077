import { readConfigOrExit } from './config.ts';
import { createLog } from './core/log.ts';
import { createRawGate } from './drivers/raw-database/gate.ts';
import { rawGateSettings, upstreamAddress } from './drivers/raw-database/raw-databases.ts';
import { connectSupervisor } from './drivers/supervisor/connect-supervisor.ts';

// Started by the supervisor when a worker asks for its port: connections of apps outlive the workers of the server.
const config = readConfigOrExit(process.env);
const log = createLog({ level: config.logLevel, write: (line) => process.stderr.write(line) });
for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => {});

const supervisor = connectSupervisor({
  onLost: () => process.exit(0),
  onLogins: (logins) => gate.setLogins(logins),
});
const gate = createRawGate({
  ...rawGateSettings(config.dataDir, log),
  upstream: async () => upstreamAddress(await supervisor.rawServer.url()),
});
process.on('SIGTERM', () => void gate.close().finally(() => process.exit(0)));
void gate.port().then((port) => process.send?.({ ready: true, port }));
