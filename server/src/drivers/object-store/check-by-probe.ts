import { randomUUID } from 'node:crypto';
import { Failure } from '../../plumbing/problem.ts';
import type { ObjectStore } from './object-store.ts';

/** Writes, finds, reads and deletes an object of its own. */
export async function checkByProbe(store: Omit<ObjectStore, 'check'>, where: string): Promise<void> {
  const key = `svc-check/${randomUUID()}`;
  const probe = new TextEncoder().encode(key);
  let step = 'written';
  try {
    await store.put(key, once(probe), { bytesMax: probe.byteLength });
    try {
      step = 'listed';
      const found: string[] = [];
      for await (const object of store.list(key)) found.push(object.key);
      if (found[0] !== key) throw new Error('an object that was written is not there');
      step = 'read';
      const read = await store.get(key);
      const text = read && (await new Response(read.body).text());
      if (text !== key) throw new Error('an object that was written reads otherwise');
    } finally {
      if (step === 'read') step = 'deleted';
      await store.delete(key);
    }
  } catch (error) {
    const reason = error instanceof Failure && error.cause instanceof Error ? error.cause : error;
    throw new Error(
      `Objects in ${where} can not be ${step}: ${reason instanceof Error ? reason.message : String(reason)}.`,
      { cause: error },
    );
  }
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
