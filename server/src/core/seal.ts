import { decrypt, encrypt } from './cipher.ts';
import type { Db } from './db.ts';
import { currentGeneration, type Key, loadGenerations } from './keys.ts';

export interface SealingKey {
  name: string;
  current: number;
  generations: ReadonlyMap<number, Buffer>;
}

const generationBytes = 4;

export async function sealingKey(db: Db, key: Key<string>): Promise<SealingKey> {
  const found = await loadGenerations(db, key);
  return {
    name: key.name,
    current: currentGeneration(found).generation,
    generations: new Map(found.map(({ generation, value }) => [generation, Buffer.from(value, 'base64url')])),
  };
}

export function seal(key: SealingKey, secret: { text: string; boundTo: string }): Buffer {
  const generation = Buffer.alloc(generationBytes);
  generation.writeInt32BE(key.current);
  return Buffer.concat([generation, encrypt(bytesOf(key, key.current), secret)]);
}

/** Throws where the sealed bytes were copied from another row: `boundTo` is authenticated. */
export function unseal(key: SealingKey, { sealed, boundTo }: { sealed: Buffer; boundTo: string }): string {
  return decrypt(bytesOf(key, sealed.readInt32BE()), { bytes: sealed.subarray(generationBytes), boundTo });
}

function bytesOf({ name, generations }: SealingKey, generation: number): Buffer {
  const bytes = generations.get(generation);
  if (!bytes) throw new Error(`The key ${name} has no generation ${generation}.`);
  return bytes;
}
