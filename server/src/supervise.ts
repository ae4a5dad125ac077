import { exitOnConfigError, readConfigOrExit } from './config.ts';
import { createLog } from './core/log.ts';
import { withEnvFile } from './supervisor/env-file.ts';
import { createSupervisor } from './supervisor/supervisor.ts';

/** npm and the terminal both deliver a Ctrl-C: signals this close together are one. */
const sameSignalMs = 500;

const readEnvironment = () => withEnvFile(process.env);
const env = exitOnConfigError(readEnvironment);
const config = readConfigOrExit(env);
const log = createLog({ level: config.logLevel, write: (line) => process.stderr.write(line) });
const supervisor = createSupervisor(config, log, { env, readEnvironment });
let signalledAt: number | null = null;
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => {
    const now = performance.now();
    if (signalledAt !== null && now - signalledAt < sameSignalMs) return;
    if (signalledAt === null) supervisor.stop();
    else supervisor.stopNow();
    signalledAt = now;
  });
process.on('SIGHUP', () => supervisor.replaceWorkers());

void supervisor.ended.then((code) => process.exit(code));
