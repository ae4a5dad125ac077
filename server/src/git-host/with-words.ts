/** What ends an answer of `git receive-pack`. */
const flush = '0000';
/** Of the bands that share an answer, the one whose words git shows with `remote:` before them. */
const wordsBand = 2;
/** What git takes in one packet on a band. */
const packetBytesMax = 65_515;

/**
 * The answer to a push with words for the person before its end, if they are to be shown: bytes move on as they come, and
 * only the last four wait, for the words to be known.
 */
export async function* withWords(
  pieces: AsyncIterable<Uint8Array>,
  words: () => Promise<string>,
): AsyncGenerator<Uint8Array> {
  let held = Buffer.alloc(0);
  let hasBands: boolean | null = null;
  for await (const piece of pieces) {
    held = Buffer.concat([held, piece]);
    if (held.length <= flush.length) continue;
    // Who asked for no bands gets the report alone, whose packets begin with letters.
    hasBands ??= [1, 2, 3].includes(held.readUInt8(flush.length));
    yield held.subarray(0, -flush.length);
    held = held.subarray(-flush.length);
  }
  const said = Buffer.from(await words());
  if (hasBands && said.length > 0 && said.length <= packetBytesMax && held.toString('latin1') === flush)
    yield packet(said);
  if (held.length > 0) yield held;
}

function packet(said: Buffer): Buffer {
  const length = (flush.length + 1 + said.length).toString(16).padStart(flush.length, '0');
  return Buffer.concat([Buffer.from(length, 'latin1'), Buffer.from([wordsBand]), said]);
}
