import { once } from 'node:events';
import type { ClientBase, Connection, Submittable } from 'pg';

/** Sends rows in PostgreSQL's own form (`COPY … FROM STDIN`); the answer is how many it took. */
export async function copyIn(
  client: ClientBase,
  sql: string,
  pieces: AsyncIterable<Uint8Array>,
): Promise<number> {
  const query = new CopyInQuery(sql, pieces);
  client.query(query);
  return await query.done;
}

/** What `pg` has for this and its types do not name. */
type CopyConnection = Connection & {
  sendCopyFromChunk(chunk: Uint8Array): void;
  endCopyFrom(): void;
  sendCopyFail(reason: string): void;
};

class CopyInQuery implements Submittable {
  readonly done: Promise<number>;
  readonly #sql: string;
  readonly #pieces: AsyncIterable<Uint8Array>;
  #resolve: (rows: number) => void = () => {};
  #reject: (error: Error) => void = () => {};
  #rows = 0;
  #sourceError: Error | null = null;
  #ended = false;

  constructor(sql: string, pieces: AsyncIterable<Uint8Array>) {
    this.#sql = sql;
    this.#pieces = pieces;
    this.done = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  submit(connection: Connection): void {
    connection.query(this.#sql);
  }

  handleCopyInResponse(connection: CopyConnection): void {
    this.#send(connection).catch((error: unknown) => {
      this.#sourceError = error instanceof Error ? error : new Error(String(error));
      connection.sendCopyFail('The rows could not be read.');
    });
  }

  handleCommandComplete({ text }: { text: string }): void {
    this.#rows = Number(/^COPY (\d+)$/.exec(text)?.[1] ?? 0);
  }

  handleReadyForQuery(): void {
    this.#ended = true;
    this.#resolve(this.#rows);
  }

  handleError(error: Error): void {
    this.#ended = true;
    // Where the source failed, the database only repeats that it did.
    this.#reject(this.#sourceError ?? error);
  }

  async #send(connection: CopyConnection): Promise<void> {
    for await (const piece of this.#pieces) {
      if (this.#ended) return;
      connection.sendCopyFromChunk(piece);
      if (!connection.stream.writableNeedDrain) continue;
      // A connection that is lost drains no more.
      await Promise.race([once(connection.stream, 'drain'), this.done.catch(() => {})]);
    }
    if (!this.#ended) connection.endCopyFrom();
  }
}
