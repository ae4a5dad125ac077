import { constants, gunzipSync } from 'node:zlib';

/** What stands in front of the pack of a push (gitprotocol-pack, "Reference Update Request"). */
export interface PushHead {
  /** Branches that the push creates or changes. */
  branches: string[];
  options: string[];
  /** Without commands: git probes the connection like this before a large push. */
  isEmpty: boolean;
}

const headBytesMax = 256 * 1024;
const unknownHead: PushHead = { branches: [], options: [], isEmpty: false };

/** Consumes `body` as far as needed and returns what it consumed. A head that is too long is left to git. */
export async function readPushHead(
  body: AsyncIterator<Uint8Array>,
  { isCompressed }: { isCompressed: boolean },
): Promise<PushHead & { bytes: Buffer }> {
  let bytes = Buffer.alloc(0);
  for (;;) {
    const { done, value } = await body.next();
    if (!done) bytes = Buffer.concat([bytes, value]);
    const head = parsePushHead(isCompressed ? decompress(bytes) : bytes);
    if (head) return { ...head, bytes };
    if (done || bytes.length > headBytesMax) return { ...unknownHead, isEmpty: bytes.length === 0, bytes };
  }
}

function decompress(bytes: Buffer): Buffer {
  try {
    return gunzipSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: 8 * headBytesMax });
  } catch {
    return Buffer.alloc(0);
  }
}

const commandPattern = /^[0-9a-f]{40,64} (?!0+ )[0-9a-f]{40,64} refs\/heads\/([^\0]+)/;

/** Null if it is not complete yet. */
export function parsePushHead(bytes: Buffer): PushHead | null {
  const commands = readPackets(bytes, 0);
  if (!commands) return null;
  const capabilities = commands.lines.flatMap((line) => line.split('\0')[1]?.trim().split(' ') ?? []);
  const options = capabilities.includes('push-options') ? readPackets(bytes, commands.end) : { lines: [] };
  if (!options) return null;
  return {
    branches: commands.lines.flatMap((line) => commandPattern.exec(line)?.[1]?.trimEnd() ?? []),
    options: options.lines.map((line) => line.trimEnd()),
    isEmpty: commands.lines.length === 0,
  };
}

/** Packets up to the next flush packet, or up to one that git will reject. */
function readPackets(bytes: Buffer, start: number): { lines: string[]; end: number } | null {
  const lines: string[] = [];
  for (let at = start; bytes.length >= at + 4; ) {
    const length = Number.parseInt(bytes.toString('latin1', at, at + 4), 16);
    if (length === 0 || !(length > 4)) return { lines, end: at + 4 };
    if (bytes.length < at + length) return null;
    lines.push(bytes.toString('utf8', at + 4, at + length));
    at += length;
  }
  return null;
}
