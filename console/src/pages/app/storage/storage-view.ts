import type { Answer } from '@svc/contract/endpoint.ts';
import type { getStorage, listObjects } from '@svc/contract/storage.ts';

export type StorageView = Answer<NonNullable<typeof getStorage.shape>>;
export type StoredObject = Answer<NonNullable<typeof listObjects.shape>>['items'][number];
