import { createHash, randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs';
import type { KyselyPlugin, PluginTransformQueryArgs, PluginTransformResultArgs } from 'kysely';
import { decrypt, encrypt } from './cipher.ts';
import { ConfigError } from './config-error.ts';
import type { Db } from './db.ts';

export const masterKeyVariable = 'SVC_MASTER_KEY_FILE';
const keyBytes = 32;

interface MasterKey {
  id: string;
  bytes: Buffer;
}

export function readMasterKey(path: string): MasterKey {
  const text = readText(path).trim();
  const bytes = Buffer.from(text, 'base64');
  const isBase64 = /^[A-Za-z0-9+/]+={0,2}$/.test(text);
  if (!isBase64 || bytes.length !== keyBytes)
    throw new ConfigError(masterKeyVariable, `names ${path}, which does not contain 32 bytes in base64.`);
  const id = createHash('sha256').update('svc master key ').update(bytes).digest('hex').slice(0, 16);
  return { id, bytes };
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new ConfigError(masterKeyVariable, `names ${path}, which cannot be read: ${why}.`);
  }
}

/** Fails if the file exists: overwriting a master key would make all keys unreadable. */
export function createMasterKeyFile(path: string): { id: string } {
  const handle = openSync(path, 'wx', 0o600);
  try {
    writeSync(handle, `${randomBytes(keyBytes).toString('base64')}\n`);
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
  return { id: readMasterKey(path).id };
}

export interface StoredValue {
  value: string;
  master_key: string | null;
}

/** Carries the master key with the database handle, also into its transactions. */
class MasterKeyPlugin implements KyselyPlugin {
  readonly #known = new Map<string, MasterKey>();

  constructor(readonly path: string) {}

  /** Read on each use, because the operator may have exchanged the file. */
  read(): MasterKey {
    const key = readMasterKey(this.path);
    this.#known.set(key.id, key);
    return key;
  }

  /** A key that was exchanged in the file still opens values until they are wrapped again. */
  find(id: string): MasterKey {
    const known = this.#known.get(id);
    if (known) return known;
    const key = this.read();
    if (key.id === id) return key;
    throw new ConfigError(
      masterKeyVariable,
      `names ${this.path}, which contains the master key ${key.id}, but the keys in the database are encrypted with the master key ${id}.`,
    );
  }

  transformQuery({ node }: PluginTransformQueryArgs) {
    return node;
  }

  async transformResult({ result }: PluginTransformResultArgs) {
    return result;
  }
}

export function withMasterKey(db: Db, path: string | undefined): Db {
  return path === undefined ? db : db.withPlugin(new MasterKeyPlugin(path));
}

function masterKeyOf(db: Db): MasterKeyPlugin | undefined {
  return db.getExecutor().plugins.find((plugin) => plugin instanceof MasterKeyPlugin);
}

export function findMasterKeyId(db: Db): string | null {
  return masterKeyOf(db)?.read().id ?? null;
}

/** Encrypted if the database handle has a master key. */
export function wrapValue(db: Db, plain: { text: string; boundTo: string }): StoredValue {
  const key = masterKeyOf(db)?.read();
  if (!key) return { value: plain.text, master_key: null };
  return { value: encrypt(key.bytes, plain).toString('base64'), master_key: key.id };
}

export function unwrapValue(db: Db, stored: StoredValue & { boundTo: string }): string {
  const { value, master_key: id, boundTo } = stored;
  if (id === null) return value;
  const masterKey = masterKeyOf(db);
  if (!masterKey)
    throw new ConfigError(
      masterKeyVariable,
      `is required: the keys in the database are encrypted with the master key ${id}.`,
    );
  return decrypt(masterKey.find(id).bytes, { bytes: Buffer.from(value, 'base64'), boundTo });
}
