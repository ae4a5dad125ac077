import { confirmApp } from '../apps/confirm-app.ts';
import type { RequestInfo } from '../plumbing/api.ts';
import type { AppMutationCtx } from '../plumbing/context.ts';
import { runMutation } from '../plumbing/mutation.ts';
import { fail } from '../plumbing/problem.ts';
import type { Issuer } from './issuer-access.ts';
import type { UploadClaims } from './object-url.ts';
import type { ObjectParts } from './objects-handler.ts';
import { placeObject } from './place-object.ts';
import { notEnabled, refuseArchived } from './rules.ts';
import { deleteUploadRow, findObjectRow, lockStorageRow, type ObjectRow } from './store.ts';

interface Arrived {
  claims: UploadClaims;
  issuer: Issuer;
  info: RequestInfo;
  blobId: string;
  stored: { size: number; sha256: string };
}

/** What has arrived becomes the object, as a change by whoever made the address, if they still may. */
export async function finishUpload(
  parts: ObjectParts,
  { claims, issuer, info, blobId, stored }: Arrived,
): Promise<{ row: ObjectRow; isNew: boolean }> {
  const place = { tenantId: claims.tenant, appId: claims.app };
  let done: { row: ObjectRow; isNew: boolean } | undefined;
  await runMutation(
    {
      db: parts.db,
      outbox: parts.outbox,
      requestId: info.requestId,
      log: info.log,
      caller: issuer.caller,
      ...(parts.onCommitted ? { onCommitted: parts.onCommitted } : {}),
    },
    {
      mode: 'execute',
      operation: { id: 'storage.put', irreversible: false },
      auditTenantId: place.tenantId,
      verb: async (base) => {
        const ctx: AppMutationCtx = { ...base, tenant: issuer.tenant, app: issuer.app };
        const storage = await lockStorageRow(ctx.db, place);
        refuseArchived(await confirmApp(ctx, { wanted: 'owners' }));
        if (!storage) throw notEnabled();
        if (!(await deleteUploadRow(ctx.db, place, blobId))) throw fail('request_timeout');
        const isNew = (await findObjectRow(ctx.db, place, claims.key)) === undefined;
        const { row } = await placeObject(ctx, storage, {
          key: claims.key,
          blob_id: blobId,
          content_type: claims.content_type,
          ...stored,
          action: 'storage.put',
        });
        done = { row, isNew };
        return { status: 200, headers: {}, body: '' };
      },
    },
  );
  if (!done) throw new Error('The upload ended without an object.');
  return done;
}
