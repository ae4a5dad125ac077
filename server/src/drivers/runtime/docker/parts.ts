import { isIP } from 'node:net';
import type { Logger } from 'pino';
import type { BuiltNotes } from './built-notes.ts';
import type { Engine } from './engine.ts';
import type { Turns } from './turns.ts';

/** What building and running have in common. */
export interface Parts {
  engine: Engine;
  /** Of an engine, or of the Swarm that it leads. */
  node: string;
  /** Null: single containers; otherwise services, kept to this node, which alone has the images. */
  swarmNode: string | null;
  /** Marks what is ours on an engine that others may use too. */
  installation: string;
  /** Makes the names of images such that nobody can guess them. */
  imageKey: string;
  baseImage: string;
  network: string | null;
  publish: Publish;
  /** How builds reach packages: proxies and a registry, where the server has them. */
  buildVariables: Readonly<Record<string, string>>;
  /** How programs of the machine are found. */
  path: string;
  /** By which compose apps are run; null: there is none. */
  composeTool: readonly string[] | null;
  /** Holds how far each instance's log was read. */
  logsDir: string;
  scratchDir: string;
  built: BuiltNotes;
  turns: Turns;
  buildMsMax: number;
  log: Logger;
}

/** Where ports of apps are opened, and where the server finds them. */
export interface Publish {
  ip: string;
  host: string;
}

/** On loopback, unless the engine is another machine: then at its address, which only the server should reach. */
export function publishAt(host: string, address: string | null): Publish {
  const found = address ?? (host.startsWith('tcp://') ? new URL(host).hostname : '127.0.0.1');
  const name = found === 'localhost' ? '127.0.0.1' : found;
  return { ip: isIP(name) ? name : '0.0.0.0', host: name };
}
