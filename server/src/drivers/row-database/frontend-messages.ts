/**
 * What we send of PostgreSQL's protocol (version 3), collected in one buffer until it is flushed. Only what the row
 * path needs: prepared statements with text parameters, and COPY into a table.
 */
export class FrontendMessages {
  #buffer = Buffer.allocUnsafe(64 * 1024);
  #end = 0;

  get isEmpty(): boolean {
    return this.#end === 0;
  }

  /** What was collected; it is forgotten here. */
  take(): Buffer {
    const taken = this.#buffer.subarray(0, this.#end);
    // The socket may hold on to what it is given, so the rest of the buffer is all that is left to write into.
    this.#buffer = this.#buffer.subarray(this.#end);
    this.#end = 0;
    // Too little is left, or so much that keeping it would cost more than making it anew.
    if (this.#buffer.length < 4 * 1024 || taken.length > 64 * 1024)
      this.#buffer = Buffer.allocUnsafe(64 * 1024);
    return taken;
  }

  parse(name: string, text: string): void {
    const start = this.#open(0x50, 8 + text.length * 3 + name.length);
    this.#string(name);
    this.#string(text);
    this.#int16(0);
    this.#close(start);
  }

  /** The unnamed portal, everything as text in both directions. */
  bind(name: string, values: readonly (string | null)[]): void {
    let most = 16 + name.length;
    for (const value of values) most += 4 + (value === null ? 0 : value.length * 3);
    const start = this.#open(0x42, most);
    this.#buffer[this.#end++] = 0;
    this.#string(name);
    this.#int16(0);
    this.#int16(values.length);
    for (const value of values) {
      if (value === null) {
        this.#int32(-1);
        continue;
      }
      const at = this.#end;
      this.#end += 4;
      const bytes = this.#buffer.write(value, this.#end);
      this.#buffer.writeInt32BE(bytes, at);
      this.#end += bytes;
    }
    this.#int16(0);
    this.#close(start);
  }

  /** All its rows. */
  execute(): void {
    const start = this.#open(0x45, 16);
    this.#buffer[this.#end++] = 0;
    this.#int32(0);
    this.#close(start);
  }

  closeStatement(name: string): void {
    const start = this.#open(0x43, 8 + name.length);
    this.#buffer[this.#end++] = 0x53;
    this.#string(name);
    this.#close(start);
  }

  sync(): void {
    this.#close(this.#open(0x53, 8));
  }

  /** Lets the server send what it has without ending the transaction block of the messages. */
  flush(): void {
    this.#close(this.#open(0x48, 8));
  }

  /** The head of a message whose data follow as they are: a batch is large, and one copy less is worth it. */
  copyHead(dataBytes: number): void {
    this.#reserve(8);
    this.#buffer[this.#end++] = 0x64;
    this.#int32(4 + dataBytes);
  }

  copyDone(): void {
    this.#close(this.#open(0x63, 8));
  }

  #open(type: number, bodyBytesMost: number): number {
    this.#reserve(bodyBytesMost + 8);
    this.#buffer[this.#end++] = type;
    const start = this.#end;
    this.#end += 4;
    return start;
  }

  #close(start: number): void {
    this.#buffer.writeInt32BE(this.#end - start, start);
  }

  #string(text: string): void {
    this.#end += this.#buffer.write(text, this.#end);
    this.#buffer[this.#end++] = 0;
  }

  #int16(value: number): void {
    this.#end = this.#buffer.writeInt16BE(value, this.#end);
  }

  #int32(value: number): void {
    this.#end = this.#buffer.writeInt32BE(value, this.#end);
  }

  #reserve(bytes: number): void {
    if (this.#end + bytes <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.#buffer.length * 2, this.#end + bytes, 64 * 1024));
    this.#buffer.copy(larger, 0, 0, this.#end);
    this.#buffer = larger;
  }
}
