import { existsSync } from 'node:fs';
import { clusterFolder } from '../database/cluster.ts';
import type { Database } from '../database/database-handle.ts';
import { openEmbedded } from '../database/embedded.ts';

/** The PostgreSQL that holds databases of apps. */
export interface RawServer {
  /** `own`: nothing else is on it. `operators`: what is on it, and who is let in where, is for its operator to say. */
  kind: 'own' | 'operators';
  isMade(): boolean;
  /** A login that may make roles and databases; an own server is made and started first, where that is still to do. */
  url(): Promise<string>;
  stop(): Promise<void>;
  /** Sends the order to stop and returns at once. */
  stopNow(): void;
}

export function serverAt(url: string): RawServer {
  return {
    kind: 'operators',
    isMade: () => true,
    url: async () => url,
    stop: async () => {},
    stopNow: () => {},
  };
}

/** So that who keeps asking for one that does not start does not keep us starting it. */
const startAgainMs = 10_000;

/**
 * An embedded PostgreSQL beside the control plane's: what a login can use up (locks, memory, the queue of
 * notifications, transaction numbers) is shared by all databases of a server.
 */
export function ownServer({
  dataDir,
  log,
  warn,
}: {
  dataDir: string;
  log: (line: string) => void;
  warn: (line: string) => void;
}): RawServer {
  let running: Promise<Database> | undefined;
  let database: Database | undefined;
  let stopping: Promise<void> | undefined;
  const start = (): Promise<Database> => {
    const opening = openEmbedded({ dataDir, use: 'databases_of_apps', log });
    const forget = () => {
      if (running === opening) running = database = undefined;
    };
    const watch = async () => {
      database = await opening;
      await database.exited;
      warn('PostgreSQL could not be kept up; it is started again when it is needed.');
      await database.stop();
    };
    watch().then(forget, (error: unknown) => {
      warn(error instanceof Error ? error.message : String(error));
      setTimeout(forget, startAgainMs).unref();
    });
    return opening;
  };
  return {
    kind: 'own',
    isMade: () => existsSync(clusterFolder(dataDir)),
    url: async () => {
      if (stopping) throw new Error('The server of databases of apps is being stopped.');
      running ??= start();
      return (await running).controlUrl;
    },
    stop: () => {
      stopping ??= (async () => (await running?.catch(() => undefined))?.stop())();
      return stopping;
    },
    stopNow: () => database?.stopNow(),
  };
}
