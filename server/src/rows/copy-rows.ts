import { escapeIdentifier as ident } from 'pg';
import { ServerError } from '../drivers/row-database/backend-messages.ts';
import type { Transaction } from '../drivers/row-database/row-database.ts';
import { versionColumn } from '../tables/catalogue.ts';
import { CopyText } from './copy-text.ts';
import { idJson } from './id-json.ts';
import { newVersion } from './read-row.ts';
import { failureOfRow } from './row-errors.ts';
import type { RowTable } from './row-table.ts';

/** Rows that are all new: PostgreSQL takes nothing in faster than a COPY. */
export class CopyRows {
  readonly #table: RowTable;
  readonly #idAt: number;
  readonly #version = newVersion();
  readonly #data = new CopyText();
  readonly #ids: (string | number | null)[] = [];
  readonly #lines: number[] = [];

  constructor(table: RowTable) {
    this.#table = table;
    this.#idAt = table.catalogue.columns.indexOf(table.catalogue.idColumn);
  }

  add(line: number, values: (string | null)[]): void {
    this.#lines.push(line);
    this.#ids.push(idJson(this.#table.catalogue.idColumn.type, values[this.#idAt] ?? null));
    values.push(this.#version);
    this.#data.add(values);
  }

  async store(tx: Transaction): Promise<{ inserted: number; ids: (string | number | null)[] }> {
    const { columns } = this.#table.catalogue;
    const names = [...columns.map(({ physical }) => ident(physical)), versionColumn];
    try {
      await tx.copy(`copy ${this.#table.from} (${names.join(', ')}) from stdin`, this.#data.end());
    } catch (error) {
      throw failureOfRow(error, this.#table, this.#lineOf(error)) ?? error;
    }
    return { inserted: this.#ids.length, ids: this.#ids };
  }

  /** PostgreSQL says which of the rows it was at, counting from 1. */
  #lineOf(error: unknown): number | undefined {
    if (!(error instanceof ServerError)) return undefined;
    const row = /, line (\d+)/.exec(error.where ?? '')?.[1];
    return row === undefined ? undefined : this.#lines[Number(row) - 1];
  }
}
