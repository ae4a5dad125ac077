const flushAt = 256 * 1024;

/** Rows as COPY reads them: tabs between, `\N` for null, backslashes before what would have a meaning. */
export class CopyText {
  readonly chunks: Uint8Array[] = [];
  #parts: string[] = [];
  #length = 0;

  add(values: readonly (string | null)[]): void {
    let row = '';
    for (let i = 0; i < values.length; i++) {
      const value = values[i];
      if (i > 0) row += '\t';
      row += value === null || value === undefined ? '\\N' : escaped(value);
    }
    row += '\n';
    this.#parts.push(row);
    this.#length += row.length;
    if (this.#length >= flushAt) this.#flush();
  }

  end(): readonly Uint8Array[] {
    this.#flush();
    return this.chunks;
  }

  #flush(): void {
    if (this.#parts.length === 0) return;
    this.chunks.push(Buffer.from(this.#parts.join('')));
    this.#parts = [];
    this.#length = 0;
  }
}

const special = /[\\\n\r\t]/;
const escapes: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function escaped(value: string): string {
  return special.test(value) ? value.replace(/[\\\n\r\t]/g, (char) => escapes[char] ?? char) : value;
}
