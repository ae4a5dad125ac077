import type { Tx } from '../plumbing/db.ts';
import type { Outbox } from '../plumbing/outbox.ts';

type Tables = {
  outbox: { id: string; topic: string; payload: unknown; created_at: Date };
};

/**
 * Effects of the operator's changes are only written down: the row is the truth, and the server finds it. Waking the
 * queue would cost each command a start of it, and would need its tables before the first start of a server.
 */
export const writtenOutbox: Outbox = {
  async add(tx: Tx, at, effects) {
    for (const { id, topic, payload } of effects) {
      await tx
        .withTables<Tables>()
        .insertInto('outbox')
        .values({ id, topic, payload, created_at: at })
        .execute();
    }
  },
  async start() {},
  async stop() {},
};
