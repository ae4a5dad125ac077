export interface Frame {
  stream: 'stdout' | 'stderr';
  bytes: Uint8Array;
}

const headerBytes = 8;

/** What the engine sends of a container without a terminal: pieces of both streams, each behind a header of its length. */
export async function* readFrames(body: AsyncIterable<Uint8Array>): AsyncGenerator<Frame> {
  let kept: Buffer = Buffer.alloc(0);
  for await (const chunk of body) {
    kept = kept.length === 0 ? Buffer.from(chunk) : Buffer.concat([kept, chunk]);
    let from = 0;
    while (kept.length - from >= headerBytes) {
      const length = kept.readUInt32BE(from + 4);
      if (kept.length - from < headerBytes + length) break;
      const bytes = kept.subarray(from + headerBytes, from + headerBytes + length);
      yield { stream: kept[from] === 2 ? 'stderr' : 'stdout', bytes };
      from += headerBytes + length;
    }
    kept = kept.subarray(from);
  }
}
