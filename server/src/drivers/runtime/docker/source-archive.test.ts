import { expect, test } from 'bun:test';
import { packedBy } from './source-archive.ts';

test('an archive that misses something breaks off, and says what', async () => {
  const packed = packedBy(['-C', import.meta.dir, 'source-archive.ts', 'is-not-there']);
  const error = await new Response(packed.bytes).arrayBuffer().catch((thrown: unknown) => thrown);
  expect(String(error)).toContain('is-not-there');
  await packed.close();
});
