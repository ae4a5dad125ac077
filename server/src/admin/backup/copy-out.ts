import type { ClientBase, Connection, Submittable } from 'pg';

/** Rows of a table as PostgreSQL writes them, in pieces of about this size. */
const pieceBytes = 4 * 1024 * 1024;

export interface CopyOut extends AsyncIterable<Buffer> {
  /** How many rows there were; known once all pieces are read. */
  rows(): number;
}

/**
 * `COPY … TO STDOUT` as a stream: while nobody takes a piece, nothing more is read from the connection. Left before its
 * end, the connection is closed, for the rest of the rows would come in the way of the next answer.
 */
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

/** The methods are those by which `pg` tells a query what the server says. */
class CopyOutQuery implements Submittable {
  rows = 0;
  readonly #sql: string;
  #connection: Connection | null = null;
  #piece: Buffer[] = [];
  #pieceBytes = 0;
  #ready: Buffer[] = [];
  #end: { error: Error | null } | null = null;
  #wake = () => {};

  constructor(sql: string) {
    this.#sql = sql;
  }

  submit(connection: Connection): void {
    this.#connection = connection;
    connection.query(this.#sql);
  }

  handleCopyData({ chunk }: { chunk: Buffer }): void {
    // The parser uses its buffer again.
    this.#piece.push(Buffer.from(chunk));
    this.#pieceBytes += chunk.length;
    if (this.#pieceBytes < pieceBytes) return;
    this.#finishPiece();
    this.#connection?.stream.pause();
  }

  handleCommandComplete({ text }: { text: string }): void {
    this.rows = Number(/^COPY (\d+)$/.exec(text)?.[1] ?? 0);
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
