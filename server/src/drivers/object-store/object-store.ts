import { createHash, randomUUID } from 'node:crypto';
import { Failure, fail } from '../../core/problem.ts';

/** The platform creates the keys; they never contain user text. */
export interface ObjectStore {
  /** Atomic: the object is visible only when it is complete and durable. */
  put(
    key: string,
    body: AsyncIterable<Uint8Array>,
    options: { bytesMax: number; signal?: AbortSignal },
  ): Promise<{ size: number; sha256: string }>;
  get(
    key: string,
    range?: { start: number; end: number },
  ): Promise<{ body: ReadableStream<Uint8Array>; size: number } | null>;
  stat(key: string): Promise<{ size: number } | null>;
  delete(key: string): Promise<void>;
  list(prefix: string, after?: string): AsyncIterable<{ key: string; size: number; modifiedAt: Date }>;
  check(): Promise<void>;
}

const keyPattern = /^[a-z0-9][a-z0-9._/-]{0,200}$/;
const prefixPattern = /^([a-z0-9][a-z0-9._/-]{0,200})?$/;

/** A shared bucket may contain keys that the platform did not create. */
export function isKey(text: string): boolean {
  return (
    keyPattern.test(text) && !text.split('/').some((part) => part === '' || part === '.' || part === '..')
  );
}

export function requireKey(key: string): void {
  if (!isKey(key)) throw new RangeError(`Invalid object key: ${JSON.stringify(key)}.`);
}

export function requirePrefix(prefix: string): void {
  if (!prefixPattern.test(prefix))
    throw new RangeError(`Invalid object key prefix: ${JSON.stringify(prefix)}.`);
}

export function requireRange({ start, end }: { start: number; end: number }): void {
  if (!Number.isSafeInteger(start) || !Number.isSafeInteger(end) || start < 0 || end < start)
    throw new RangeError(`Invalid byte range: ${start} to ${end}.`);
}

export function unavailableError(cause: unknown): Failure {
  const isFull = cause instanceof Error && 'code' in cause && cause.code === 'ENOSPC';
  const detail = isFull
    ? 'The disk of the object store is full.'
    : 'The object store is unavailable. Try again later.';
  return fail('unavailable', { detail }, { cause });
}

export function measureBody(
  body: AsyncIterable<Uint8Array>,
  { bytesMax, signal }: { bytesMax: number; signal?: AbortSignal },
) {
  const hash = createHash('sha256');
  let size = 0;
  async function* chunks() {
    for await (const chunk of signal ? abortable(body, signal) : body) {
      size += chunk.byteLength;
      if (size > bytesMax)
        throw fail('payload_too_large', { detail: `The body may have at most ${bytesMax} bytes.` });
      hash.update(chunk);
      yield chunk;
    }
    signal?.throwIfAborted();
  }
  return { chunks: chunks(), facts: () => ({ size, sha256: hash.copy().digest('hex') }) };
}

async function* abortable(body: AsyncIterable<Uint8Array>, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  aborted.catch(() => {});
  const onAbort = () => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  const source = body[Symbol.asyncIterator]();
  let isDone = false;
  try {
    for (;;) {
      const next = await Promise.race([source.next(), aborted]);
      isDone = next.done === true;
      if (next.done) return;
      yield next.value;
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
    // Not awaited: a pending next(), which may never resolve, would block it.
    if (!isDone) void Promise.resolve(source.return?.()).catch(() => {});
  }
}

export async function checkStore(store: Omit<ObjectStore, 'check'>, where: string): Promise<void> {
  const key = `svc-check/${randomUUID()}`;
  const probe = new TextEncoder().encode(key);
  let step = 'written';
  try {
    await store.put(key, new Blob([probe]).stream(), { bytesMax: probe.byteLength });
    try {
      step = 'listed';
      const [found] = await Array.fromAsync(store.list(key));
      if (found?.key !== key) throw new Error('a written object is missing');
      step = 'read';
      const read = await store.get(key);
      const text = read && (await new Response(read.body).text());
      if (text !== key) throw new Error('a written object has other content');
    } finally {
      if (step === 'read') step = 'deleted';
      await store.delete(key);
    }
  } catch (error) {
    const cause = error instanceof Failure && error.cause instanceof Error ? error.cause : error;
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`Objects in ${where} cannot be ${step}: ${reason}.`, { cause: error });
  }
}
