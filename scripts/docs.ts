import { join } from 'node:path';
import { generatedDocs } from './generated-docs.ts';
import { root } from './run-tests.ts';

for (const [path, text] of Object.entries(await generatedDocs())) {
  await Bun.write(join(root, path), text);
  console.log(`wrote ${path}`);
}
