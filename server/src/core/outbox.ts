import type { Tx } from './db.ts';

export type OutboxTables = {
  outbox: {
    id: string;
    topic: string;
    payload: unknown;
    created_at: Date;
    attempts: number;
    done_at: Date | null;
    last_error: string | null;
  };
};

export interface QueuedEffect {
  id: string;
  topic: string;
  payload: Record<string, unknown>;
}

/** The `outbox` row is authoritative; the pg-boss job sent in the same transaction only wakes a worker. */
export interface Outbox {
  add(tx: Tx, at: Date, effects: readonly QueuedEffect[]): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

export const rowsOnlyOutbox: Outbox = {
  async add(tx, at, effects) {
    for (const { id, topic, payload } of effects) {
      await tx
        .withTables<OutboxTables>()
        .insertInto('outbox')
        .values({ id, topic, payload, created_at: at, attempts: 0, done_at: null, last_error: null })
        .execute();
    }
  },
  async start() {},
  async stop() {},
};
