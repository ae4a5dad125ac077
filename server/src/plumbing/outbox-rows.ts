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

/**
 * Effects outside the database. The row in `outbox` is the truth, written with the change that causes it; the
 * pg-boss job sent in the same transaction is the wake-up, with retries and back-off.
 */
export interface Outbox {
  add(tx: Tx, at: Date, effects: readonly QueuedEffect[]): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** Writes effects down and leaves the wake-up to a server: for programs that end before an effect would. */
export const rowsOnly: Outbox = {
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
