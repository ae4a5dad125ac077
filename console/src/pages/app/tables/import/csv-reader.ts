export interface CsvCell {
  text: string;
  /** `""` is an empty text, nothing at all is no value. */
  isQuoted: boolean;
}

export interface CsvRecord {
  /** Of the file, from 1: where the record begins. */
  line: number;
  cells: CsvCell[];
}

/** CSV as RFC 4180 has it, taken in piece by piece. */
export class CsvReader {
  readonly #separator: string;
  #cells: CsvCell[] = [];
  #text = '';
  #state: 'start' | 'plain' | 'quoted' | 'closed' = 'start';
  #line = 1;
  #begun = 1;
  #lastWasCr = false;

  constructor(separator = ',') {
    this.#separator = separator;
  }

  read(piece: string): CsvRecord[] {
    const records: CsvRecord[] = [];
    for (const char of piece) {
      const isLf = char === '\n' && this.#lastWasCr;
      this.#lastWasCr = char === '\r';
      if (isLf && this.#state !== 'quoted') continue;
      const record = this.#take(char);
      if (record) records.push(record);
    }
    return records;
  }

  end(): CsvRecord[] {
    if (this.#state === 'start' && this.#cells.length === 0) return [];
    const record = this.#endRecord();
    return record ? [record] : [];
  }

  #take(char: string): CsvRecord | null {
    const isBreak = char === '\n' || char === '\r';
    if (this.#state === 'quoted') {
      if (char === '"') this.#state = 'closed';
      else this.#text += char;
      if (char === '\n') this.#line++;
      return null;
    }
    if (char === '"' && this.#state === 'closed') {
      this.#text += '"';
      this.#state = 'quoted';
      return null;
    }
    if (char === '"' && this.#state === 'start') {
      this.#state = 'quoted';
      return null;
    }
    if (char === this.#separator) {
      this.#endCell();
      return null;
    }
    if (!isBreak) {
      this.#text += char;
      if (this.#state === 'start') this.#state = 'plain';
      return null;
    }
    const record = this.#endRecord();
    this.#line++;
    this.#begun = this.#line;
    return record;
  }

  #endCell(): void {
    this.#cells.push({ text: this.#text, isQuoted: this.#state === 'closed' || this.#state === 'quoted' });
    this.#text = '';
    this.#state = 'start';
  }

  /** An empty line is no record. */
  #endRecord(): CsvRecord | null {
    this.#endCell();
    const cells = this.#cells;
    this.#cells = [];
    const [only] = cells;
    if (cells.length === 1 && only?.text === '' && !only.isQuoted) return null;
    return { line: this.#begun, cells };
  }
}
