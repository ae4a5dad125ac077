import type { Config } from '../../config.ts';
import { openFileStore } from './file-store.ts';
import { openS3Store } from './s3-store.ts';

/**
 * Bytes under keys, for what is too large for a row. The keys are made by the platform and never hold text of a user:
 * small letters, digits, `.`, `_` and `-` in segments parted by `/`.
 */
export interface ObjectStore {
  /**
   * All of the stream, or nothing: what is under the key is visible only once it is whole and durable. Replaces.
   * `payload_too_large` beyond `bytesMax`.
   */
  put(
    key: string,
    body: AsyncIterable<Uint8Array>,
    options: { bytesMax: number; signal?: AbortSignal },
  ): Promise<{ size: number; sha256: string }>;
  /** Null where there is none. The range is inclusive, as in HTTP. `size` is of the whole object. */
  get(
    key: string,
    range?: { start: number; end: number },
  ): Promise<{ body: ReadableStream<Uint8Array>; size: number } | null>;
  stat(key: string): Promise<{ size: number } | null>;
  /** Nothing happens where there is none. */
  delete(key: string): Promise<void>;
  /** In order of keys, those after `after`. */
  list(prefix: string, after?: string): AsyncIterable<{ key: string; size: number; modifiedAt: Date }>;
  /** Throws with a sentence for the operator where it can not be used. */
  check(): Promise<void>;
}

export function openObjectStore(config: Pick<Config, 'objectStore' | 'dataDir'>): ObjectStore {
  return config.objectStore.kind === 'file' ? openFileStore(config.dataDir) : openS3Store(config.objectStore);
}
