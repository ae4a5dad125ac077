import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { Glob } from 'bun';
import { root } from './run-tests.ts';
import { sdkTypes } from './sdk-types.ts';

test('the types of the SDK are those of the present code (npm run docs renews them)', async () => {
  const names = [...new Glob('sdk/types/**/*.d.ts').scanSync(root)].sort();
  const stored = await Promise.all(
    names.map(async (name) => [name, await Bun.file(join(root, name)).text()] as const),
  );
  expect(Object.fromEntries(stored)).toEqual(await sdkTypes());
});
