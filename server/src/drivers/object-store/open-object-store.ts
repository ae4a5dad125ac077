import { openFileStore } from './file-store.ts';
import type { ObjectStore } from './object-store.ts';
import type { S3Config } from './s3-client.ts';
import { openS3Store } from './s3-store.ts';

export type ObjectStoreConfig = { kind: 'file' } | S3Config;

export function openObjectStore(config: { objectStore: ObjectStoreConfig; dataDir: string }): ObjectStore {
  return config.objectStore.kind === 'file' ? openFileStore(config.dataDir) : openS3Store(config.objectStore);
}
