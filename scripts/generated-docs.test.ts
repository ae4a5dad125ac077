import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { generatedDocs } from './generated-docs.ts';
import { root } from './run-tests.ts';

test('the generated documents are those of the present code (npm run docs renews them)', async () => {
  for (const [path, text] of Object.entries(await generatedDocs())) {
    expect({ path, current: (await Bun.file(join(root, path)).text()) === text }).toEqual({
      path,
      current: true,
    });
  }
});
