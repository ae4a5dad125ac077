import { withClient } from '../database/connect.ts';
import { closeDatabase } from './close-database.ts';
import { dropDatabase } from './drop-database.ts';
import { ensureDatabase, type WantedDatabase } from './ensure-database.ts';
import { type Gate, openGate } from './gate.ts';
import { findObstacle, type Obstacle } from './obstacle.ts';
import { isRawName } from './raw-name.ts';
import { addressOf, hostAndPort } from './raw-url.ts';

/** The server that holds apps' own databases. */
export interface RawDatabases {
  /** What keeps it from holding them safely, as it is now. */
  obstacle(): Promise<Obstacle | null>;
  /** How programs reach it: a connection string without login and database. */
  address(): Promise<string>;
  /** One piece of work on a database at a time, whichever copy of the server does it. */
  underLock(name: string, work: (hands: RawHands) => Promise<void>): Promise<void>;
  close(): Promise<void>;
}

export interface RawHands {
  /** Database and role as they are wanted, and open, from wherever an attempt before was cut off. */
  ensure(wanted: WantedDatabase): Promise<void>;
  /** The data stay, and nobody is in or gets in; until it is ensured again. */
  close(name: string): Promise<void>;
  /** Both gone, with whoever is connected; also where there is nothing. */
  drop(name: string): Promise<void>;
}

export interface RawDatabasesOptions {
  /** A login that may make roles and databases. */
  url: string;
  /** For a server that programs can not reach by themselves; absent where they can. */
  gate?: { portFile: string; connectionsMax: number; log: (line: string) => void };
}

export function createRawDatabases({ url, gate }: RawDatabasesOptions): RawDatabases {
  let opened: Promise<Gate> | undefined;
  return {
    obstacle: () => withClient(url, findObstacle),
    address: async () => {
      if (!gate) return addressOf(url);
      opened ??= openGate({ ...gate, upstream: placeOf(url) });
      const { port } = await opened.catch((error: unknown) => {
        opened = undefined;
        throw error;
      });
      return `postgresql://127.0.0.1:${port}/?sslmode=disable`;
    },
    underLock: (name, work) => {
      if (!isRawName(name)) throw new Error(`${name} is not a name of a raw database.`);
      return withClient(url, async (admin) => {
        // Held as long as the connection; all copies of the server use the same database for it.
        await admin.query('select pg_advisory_lock(hashtextextended($1, 0))', [name]);
        await work({
          ensure: (wanted) => ensureDatabase(admin, url, wanted),
          close: (closed) => closeDatabase(admin, closed),
          drop: (dropped) => dropDatabase(admin, dropped),
        });
      });
    },
    close: async () => {
      const open = await opened?.catch(() => undefined);
      await open?.close();
    },
  };
}

function placeOf(url: string): { path: string } | { host: string; port: number } {
  const { host, port } = hostAndPort(url);
  return host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host, port };
}
