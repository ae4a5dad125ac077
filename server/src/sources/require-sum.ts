/** Fails before the end where they have another SHA-256 than is expected, so that nobody takes them for whole. */
export async function* requireSum(
  pieces: AsyncIterable<Uint8Array>,
  expected: string | null,
  failure: () => Error,
): AsyncGenerator<Uint8Array> {
  const sum = new Bun.CryptoHasher('sha256');
  for await (const piece of pieces) {
    sum.update(piece);
    yield piece;
  }
  if (expected !== null && expected !== sum.digest('hex')) throw failure();
}
