import { withClient } from '../database/connect.ts';
import { closeDatabase } from './close-database.ts';
import { isOthers } from './database-tag.ts';
import { dropDatabase } from './drop-database.ts';
import { ensureDatabase, type WantedDatabase } from './ensure-database.ts';
import { type Gate, type GateOptions, openGate, type Upstream } from './gate.ts';
import { findObstacle, type Obstacle } from './obstacle.ts';
import { isRawName } from './raw-name.ts';
import type { RawServer } from './raw-server.ts';
import { addressOf, hostAndPort } from './raw-url.ts';

/** The server that holds apps' own databases. */
export interface RawDatabases {
  /** What keeps it from holding them safely, as it is now. */
  obstacle(): Promise<Obstacle | null>;
  /** How programs reach it: a connection string without login and database. */
  address(): Promise<string>;
  /** At a start: the logins that are there. An own server that was made is started, without waiting for it. */
  welcome(logins: readonly { name: string; connectionsMax: number }[]): void;
  /** One piece of work on a database at a time, whichever copy of the server does it. */
  underLock(name: string, work: (hands: RawHands) => Promise<void>): Promise<void>;
  close(): Promise<void>;
  /** For the way out of a process that can not wait. */
  stopNow(): void;
}

export interface RawHands {
  /** Database and role as they are wanted, and open, from wherever an attempt before was cut off. */
  ensure(wanted: Omit<WantedDatabase, 'name'>): Promise<void>;
  /** The data stay, and nobody is in or gets in; until it is ensured again. */
  close(): Promise<void>;
  /** Both gone, with whoever is connected; also where there is nothing. Another installation's stays. */
  drop(): Promise<void>;
}

export interface RawDatabasesOptions {
  server: RawServer;
  /** Says of each database whose it is: on a server of the operator's several installations may live. */
  installation: string;
  /** For a server that programs can not reach by themselves; absent where they can. */
  gate?: Omit<GateOptions, 'upstream' | 'placesOf'>;
}

/** Beyond what PostgreSQL gives a role, so that its own refusal is what a client sees, and the end of one overlaps. */
const sparePlaces = 3;

export function createRawDatabases({ server, installation, gate }: RawDatabasesOptions): RawDatabases {
  let opened: Promise<Gate> | undefined;
  const places = new Map<string, number>();
  const letIn = (login: { name: string; connectionsMax: number }) =>
    places.set(login.name, login.connectionsMax + sparePlaces);
  return {
    // On one of our own there is nobody else, and PUBLIC is out from its first start.
    obstacle: async () => (server.kind === 'own' ? null : withClient(await server.url(), findObstacle)),
    address: async () => {
      if (!gate) return addressOf(await server.url());
      opened ??= openGate({
        ...gate,
        upstream: async () => placeOf(await server.url()),
        placesOf: (name) => places.get(name) ?? 0,
      });
      const { port } = await opened.catch((error: unknown) => {
        opened = undefined;
        throw error;
      });
      return `postgresql://127.0.0.1:${port}/?sslmode=disable`;
    },
    welcome: (logins) => {
      for (const login of logins) letIn(login);
      // It says itself why it can not be started.
      if (server.isMade()) server.url().catch(() => {});
    },
    underLock: async (name, work) => {
      if (!isRawName(name)) throw new Error(`${name} is not a name of a raw database.`);
      const place = { url: await server.url(), installation };
      await withClient(place.url, async (admin) => {
        const notOurs = () => isOthers(admin, name, place.installation);
        // Held as long as the connection; all copies of the server use the same database for it.
        await admin.query('select pg_advisory_lock(hashtextextended($1, 0))', [name]);
        await work({
          ensure: async (wanted) => {
            await ensureDatabase(admin, place, { ...wanted, name });
            letIn({ ...wanted, name });
          },
          close: async () => {
            places.delete(name);
            if (!(await notOurs())) await closeDatabase(admin, name);
          },
          drop: async () => {
            places.delete(name);
            if (!(await notOurs())) await dropDatabase(admin, name);
          },
        });
      });
    },
    close: async () => {
      const open = await opened?.catch(() => undefined);
      await open?.close();
      await server.stop();
    },
    stopNow: () => server.stopNow(),
  };
}

function placeOf(url: string): Upstream {
  const { host, port } = hostAndPort(url);
  return host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host, port };
}
