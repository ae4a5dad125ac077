import { once } from 'node:events';
import { type ClientBase, type Connection, escapeIdentifier as ident } from 'pg';
import { qualifiedName } from '../backup/archive.ts';
import { CopyQuery } from '../backup/copy-out.ts';
import type { FileEntry } from '../backup/data-files.ts';
import { type parseTablePath, tableKey } from '../backup/manifest.ts';
import type { TableFacts } from '../backup/snapshot.ts';

export async function copyInto(
  client: ClientBase,
  { entries, table, parse }: { entries: Entries; table: TableFacts; parse: typeof parseTablePath },
): Promise<number> {
  async function* pieces() {
    for (let entry = await entries.peek(); entry; entry = await entries.peek()) {
      const of = parse(entry.path);
      if (!of || tableKey(of) !== tableKey(table)) return;
      yield* entry.content;
      entries.advance();
    }
  }
  const columns = table.columns.length > 0 ? ` (${table.columns.map(ident).join(', ')})` : '';
  const query = client.query(new CopyInQuery(`copy ${qualifiedName(table)}${columns} from stdin`, pieces()));
  return await query.done;
}

export class Entries {
  readonly #source: AsyncGenerator<FileEntry>;
  #ahead: Promise<FileEntry | null> | null = null;

  constructor(source: AsyncGenerator<FileEntry>) {
    this.#source = source;
  }

  peek(): Promise<FileEntry | null> {
    this.#ahead ??= this.#source.next().then((next) => (next.done ? null : next.value));
    return this.#ahead;
  }

  advance(): void {
    this.#ahead = null;
  }

  async close(): Promise<void> {
    await this.#source.return(undefined);
  }
}

type CopyConnection = Connection & {
  sendCopyFromChunk(chunk: Uint8Array): void;
  endCopyFrom(): void;
  sendCopyFail(reason: string): void;
};

class CopyInQuery extends CopyQuery {
  readonly #result = Promise.withResolvers<number>();
  readonly done = this.#result.promise;
  readonly #pieces: AsyncIterable<Uint8Array>;
  #sourceError: Error | null = null;
  #ended = false;

  constructor(sql: string, pieces: AsyncIterable<Uint8Array>) {
    super(sql);
    this.#pieces = pieces;
  }

  handleCopyInResponse(connection: CopyConnection): void {
    this.#send(connection).catch((error: unknown) => {
      this.#sourceError = error instanceof Error ? error : new Error(String(error));
      connection.sendCopyFail('The rows could not be read.');
    });
  }

  handleReadyForQuery(): void {
    this.#ended = true;
    this.#result.resolve(this.rows);
  }

  handleError(error: Error): void {
    this.#ended = true;
    this.#result.reject(this.#sourceError ?? error);
  }

  async #send(connection: CopyConnection): Promise<void> {
    for await (const piece of this.#pieces) {
      if (this.#ended) return;
      connection.sendCopyFromChunk(piece);
      if (!connection.stream.writableNeedDrain) continue;
      // A lost connection never drains.
      await Promise.race([once(connection.stream, 'drain'), this.done.catch(() => {})]);
    }
    if (!this.#ended) connection.endCopyFrom();
  }
}
