import type { ClientBase, Connection, Submittable } from 'pg';

const pieceBytes = 4 * 1024 * 1024;

export interface CopyOut extends AsyncIterable<Buffer> {
  rows(): number;
}

/** `COPY … TO STDOUT` as a stream with backpressure. Leaving it early closes the connection, which still has data. */
export function copyOut(client: ClientBase, sql: string): CopyOut {
  const query = new CopyOutQuery(sql);
  return {
    rows: () => query.rows,
    async *[Symbol.asyncIterator]() {
      client.query(query);
      try {
        for (let piece = await query.next(); piece; piece = await query.next()) yield piece;
      } finally {
        query.leave();
      }
    },
  };
}

export abstract class CopyQuery implements Submittable {
  rows = 0;
  readonly #sql: string;

  constructor(sql: string) {
    this.#sql = sql;
  }

  submit(connection: Connection): void {
    connection.query(this.#sql);
  }

  handleCommandComplete({ text }: { text: string }): void {
    this.rows = Number(/^COPY (\d+)$/.exec(text)?.[1] ?? 0);
  }
}

class CopyOutQuery extends CopyQuery {
  #connection: Connection | null = null;
  #piece: Buffer[] = [];
  #pieceBytes = 0;
  #ready: Buffer[] = [];
  #end: { error: Error | null } | null = null;
  #wake = () => {};

  override submit(connection: Connection): void {
    this.#connection = connection;
    super.submit(connection);
  }

  handleCopyData({ chunk }: { chunk: Buffer }): void {
    // The parser reuses its buffer.
    this.#piece.push(Buffer.from(chunk));
    this.#pieceBytes += chunk.length;
    if (this.#pieceBytes < pieceBytes) return;
    this.#finishPiece();
    this.#connection?.stream.pause();
  }

  handleReadyForQuery(): void {
    this.#finishPiece();
    this.#finish(null);
  }

  handleError(error: Error): void {
    this.#finish(error);
  }

  async next(): Promise<Buffer | null> {
    for (;;) {
      const piece = this.#ready.shift();
      if (piece) return piece;
      if (this.#end?.error) throw this.#end.error;
      if (this.#end) return null;
      this.#connection?.stream.resume();
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  leave(): void {
    if (!this.#end) this.#connection?.stream.destroy();
  }

  #finishPiece(): void {
    if (this.#pieceBytes > 0) this.#ready.push(Buffer.concat(this.#piece, this.#pieceBytes));
    this.#piece = [];
    this.#pieceBytes = 0;
    this.#wake();
  }

  #finish(error: Error | null): void {
    this.#end ??= { error };
    this.#wake();
  }
}
