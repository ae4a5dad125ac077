export interface LineSplitter {
  /** How many lines came of it. */
  take(bytes: Uint8Array): number;
  /** Lets bytes pass unread, up to the end of the last line in them; answers how many lines that were. */
  skip(bytes: Uint8Array): number;
  /** What came behind the last end of a line. */
  end(): void;
}

/**
 * Lines of what a program says, as text: bytes that are no UTF-8 become replacement characters. A line without an end
 * is handed on in pieces, so that no program fills the server's memory.
 */
export function splitLines(options: { lineBytesMax: number; onLine: (line: string) => void }): LineSplitter {
  const { lineBytesMax, onLine } = options;
  const decoder = new TextDecoder();
  let kept: Uint8Array[] = [];
  let keptBytes = 0;
  let lines = 0;

  // NUL can not be kept in a text of the database.
  function handOn(bytes: Uint8Array): void {
    lines += 1;
    onLine(decoder.decode(bytes).replaceAll('\0', '\ufffd'));
  }

  function keep(bytes: Uint8Array): void {
    let rest = bytes;
    while (keptBytes + rest.length > lineBytesMax) {
      const whole = joined(rest.subarray(0, lineBytesMax - keptBytes));
      const cut = characterStart(whole);
      const used = whole.length - cut;
      rest = rest.subarray(lineBytesMax - keptBytes);
      handOn(whole.subarray(0, cut));
      kept = used > 0 ? [whole.slice(cut)] : [];
      keptBytes = used;
    }
    if (rest.length === 0) return;
    // A chunk's memory may be used again by who gave it.
    kept.push(rest.slice());
    keptBytes += rest.length;
  }

  function joined(last: Uint8Array): Uint8Array {
    return kept.length === 0 ? last : Buffer.concat([...kept, last]);
  }

  function handOver(): void {
    const line = joined(new Uint8Array());
    kept = [];
    keptBytes = 0;
    handOn(line.at(-1) === 0x0d ? line.subarray(0, -1) : line);
  }

  return {
    take(bytes) {
      lines = 0;
      let from = 0;
      for (let at = bytes.indexOf(0x0a); at !== -1; at = bytes.indexOf(0x0a, from)) {
        keep(bytes.subarray(from, at));
        handOver();
        from = at + 1;
      }
      keep(bytes.subarray(from));
      return lines;
    },
    skip(bytes) {
      let passed = 0;
      let last = -1;
      for (let at = 0; at < bytes.length; at++) {
        if (bytes[at] !== 0x0a) continue;
        passed += 1;
        last = at;
      }
      if (last !== -1) {
        kept = [];
        keptBytes = 0;
      }
      // A line that has only begun, as far as one can be: it may be taken yet.
      const rest = bytes.subarray(last + 1);
      if (keptBytes + rest.length <= lineBytesMax) keep(rest);
      return passed;
    },
    end() {
      if (keptBytes > 0) handOver();
    },
  };
}

/** Where the last character begins that may go on behind the end. */
function characterStart(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(4, bytes.length - 1); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) return bytes.length;
    if (byte >= 0xc0) return bytes.length - back;
  }
  return bytes.length;
}
