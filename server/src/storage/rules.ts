import type { getStorage, StorageObject } from '@svc/contract/storage.shapes.ts';
import { storageBytesMax } from '@svc/contract/storage.ts';
import type { z } from 'zod';
import type { AppPlace } from '../plumbing/app-place.ts';
import type { AppAccess } from '../plumbing/context.ts';
import { type Failure, fail } from '../plumbing/problem.ts';
import type { ObjectRow, StorageRow } from './store.ts';

export type ObjectRecord = z.output<typeof StorageObject>;
export type StorageRecord = z.output<typeof getStorage.answer>;

export const blobPrefix = ({ tenantId, appId }: AppPlace) => `storage/${tenantId}/${appId}/`;
/** Where the bytes are: made of ids alone, whatever the object is called. */
export const blobKey = (place: AppPlace, blobId: string) => `${blobPrefix(place)}${blobId}`;

export function objectRecord(row: ObjectRow): ObjectRecord {
  return {
    key: row.key,
    size: row.size,
    content_type: row.content_type,
    sha256: row.sha256,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

export function storageRecord(row: StorageRow | undefined): StorageRecord {
  return {
    enabled: row !== undefined,
    enabled_at: row?.enabled_at.toISOString() ?? null,
    objects: row?.objects ?? 0,
    bytes: row?.bytes ?? 0,
    bytes_max: storageBytesMax,
  };
}

/** What is kept of an object in the audit. */
export function auditedObject(row: Pick<ObjectRow, 'size' | 'content_type' | 'sha256'>) {
  return { size: row.size, content_type: row.content_type, sha256: row.sha256 };
}

/** An app that is archived can be read, and takes nothing new. */
export function refuseArchived({ record }: Pick<AppAccess, 'record'>): void {
  if (record === 'archived')
    throw fail('app_not_active', { detail: 'The app is archived; its objects can be read only.' });
}

export function notEnabled(): Failure {
  return fail('storage_not_enabled');
}

/** How many more bytes the app may hold, counting those that a new object takes the place of as free. */
export function bytesLeft(
  storage: Pick<StorageRow, 'bytes'>,
  replaced: Pick<ObjectRow, 'size'> | undefined,
): number {
  return Math.max(0, storageBytesMax - storage.bytes + (replaced?.size ?? 0));
}

export function refuseTooMuch(size: number, left: number): void {
  if (size > left) throw fullFailure();
}

export function fullFailure(): Failure {
  return fail('limit_reached', { detail: `An app holds at most ${storageBytesMax} bytes of objects.` });
}

/** What a downloaded file is called: the key's last part. */
export function fileNameOf(key: string): string {
  return key.slice(key.lastIndexOf('/') + 1);
}
