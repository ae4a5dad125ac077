import { join } from 'node:path';
import { generatedDocs } from './generated-docs.ts';
import { root } from './suites.ts';

// Rewrites docs/generated. A test fails when they are older than the code.
for (const [path, text] of Object.entries(await generatedDocs())) {
  await Bun.write(join(root, path), text);
  console.log(`wrote ${path}`);
}
