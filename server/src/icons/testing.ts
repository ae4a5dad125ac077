import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openFileStore } from '../drivers/object-store/file-store.ts';
import type { ObjectStore } from '../drivers/object-store/object-store.ts';
import type { AppCtx, Caller, TenantAccess, TenantCtx } from '../plumbing/context.ts';
import type { Db } from '../plumbing/db.ts';
import { rowsOnly } from '../plumbing/outbox-rows.ts';
import { Failure, problemResponse } from '../plumbing/problem.ts';
import { silentLog } from '../testing.ts';
import type { IconSigner } from './claims.ts';
import { createIcons } from './create-icons.ts';

export const signer: IconSigner = { baseUrl: 'http://svc.example.test', key: 'a key of the server' };

export interface IconPlace {
  objects: ObjectStore;
  /** The time that the place goes by. */
  clock: { now: Date };
  send(
    method: string,
    url: string,
    init?: { headers?: Record<string, string>; body?: BodyInit },
  ): Promise<Response>;
  close(): void;
}

/** `/icons/…` on a store of its own. */
export function newIconPlace(db: Db): IconPlace {
  const folder = mkdtempSync(join(tmpdir(), 'svc-icons-'));
  const objects = openFileStore(folder);
  const clock = { now: new Date() };
  const handle = createIcons({ db, outbox: rowsOnly, objects, signer, now: () => clock.now });
  const info = {
    requestId: 'test',
    log: silentLog,
    setRoute: () => {},
    clientAddress: '127.0.0.1',
    deadline: new AbortController().signal,
  };
  return {
    objects,
    clock,
    async send(method, url, init = {}) {
      const request = new Request(url, { method, ...init });
      return handle(request, new URL(url), info).catch((error: unknown) => {
        if (error instanceof Failure) return problemResponse(error, 'test');
        throw error;
      });
    },
    close: () => rmSync(folder, { recursive: true }),
  };
}

export function readerCtx(db: Db, caller: Caller, place: { tenant: TenantAccess; app?: AppCtx['app'] }) {
  const ctx = { db, now: new Date(), requestId: 'test', log: silentLog, caller, ...place };
  return ctx as TenantCtx & AppCtx;
}

/** A PNG of one pixel, as far as anybody here looks; `mark` tells it from others. */
export function tinyPng(mark = 0): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(34);
  bytes.set(Buffer.from('89504e470d0a1a0a0000000d49484452000000010000000108000000', 'hex'));
  bytes[33] = mark;
  return bytes;
}
