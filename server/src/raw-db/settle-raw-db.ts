import { z } from 'zod';
import type { RawDatabases } from '../drivers/raw-database/raw-databases.ts';
import type { Db } from '../plumbing/db.ts';
import type { Effect } from '../plumbing/outbox.ts';
import { openPassword } from './password-seal.ts';
import { deleteRawDbRow, findRawDbRowNamed, saveReady } from './store.ts';

const Payload = z.object({ tenant_id: z.string(), database: z.string() });

/**
 * Brings about what the row says now, not what it said when this was queued: so effects may come late, twice and in
 * any order, and one for a row that is gone (purged with its app) still drops what it stood for.
 */
export function settleRawDb({ db, raw }: { db: Db; raw: RawDatabases }): Effect {
  return async (payload) => {
    const { tenant_id: tenantId, database } = Payload.parse(payload);
    await raw.underLock(database, async (hands) => {
      const row = await findRawDbRowNamed(db, tenantId, database);
      if (!row || row.state === 'dropping') {
        await hands.drop();
        return deleteRawDbRow(db, tenantId, database);
      }
      if (row.is_closed) return hands.close();
      await hands.ensure({
        password: await openPassword(db, row),
        connectionsMax: row.connections_max,
        missing: row.is_made ? 'fail' : 'make',
        connected: row.state === 'creating' ? 'put_out' : 'stay',
      });
      await saveReady(db, tenantId, row);
    });
  };
}
