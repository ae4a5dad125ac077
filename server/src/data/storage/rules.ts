import type { getStorage, StorageObject } from '@svc/contract/storage.shapes.ts';
import { storageBytesMax } from '@svc/contract/storage.ts';
import type { z } from 'zod';
import type { AppAccess, AppRef } from '../../core/context.ts';

import { type Failure, fail } from '../../core/problem.ts';
import type { ObjectRow, StorageRow } from './store.ts';

export type ObjectRecord = z.output<typeof StorageObject>;
export type StorageRecord = z.output<typeof getStorage.answer>;

export const blobPrefix = ({ tenantId, appId }: AppRef) => `storage/${tenantId}/${appId}/`;
/** Ids only: object names never become names in the store. */
export const blobKey = (app: AppRef, blobId: string) => `${blobPrefix(app)}${blobId}`;

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

export function objectAudit(row: Pick<ObjectRow, 'size' | 'content_type' | 'sha256'>) {
  return { size: row.size, content_type: row.content_type, sha256: row.sha256 };
}

export function requireNotArchived({ record }: Pick<AppAccess, 'record'>): void {
  if (record === 'archived')
    throw fail('app_not_active', { detail: 'The app is archived; its objects are read-only.' });
}

export function bytesLeft(storage: StorageRow, replaced: ObjectRow | undefined): number {
  return Math.max(0, storageBytesMax - storage.bytes + (replaced?.size ?? 0));
}

export function requireSpace(size: number, left: number): void {
  if (size > left) throw storageFullError();
}

export function storageFullError(): Failure {
  return fail('limit_reached', { detail: `The storage limit of an app is ${storageBytesMax} bytes.` });
}

export function fileName(key: string): string {
  return key.slice(key.lastIndexOf('/') + 1);
}
