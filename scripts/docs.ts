import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { generatedDocs } from './generated-docs.ts';
import { root } from './run-tests.ts';
import { sdkTypes } from './sdk-types.ts';

await rm(join(root, 'sdk/types'), { recursive: true, force: true });
for (const [path, text] of Object.entries({ ...(await generatedDocs()), ...(await sdkTypes()) })) {
  await Bun.write(join(root, path), text);
  console.log(`wrote ${path}`);
}
