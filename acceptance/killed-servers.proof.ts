import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { killedServers } from './suites/table-changes.ts';
import { run } from './support/commands.ts';
import { root } from './support/server.ts';

/** A bundle starts in half the time. Where none can be made, the sources run. */
await run([process.execPath, '--no-env-file', join(root, 'scripts/bundle.ts')], { cwd: root });
const bundles = join(root, 'node_modules/.svc-bundle');
const manifest = join(bundles, 'manifest.json');
const folder =
  existsSync(manifest) && (JSON.parse(readFileSync(manifest, 'utf8')) as { folder: string }).folder;

killedServers({
  kills: Number(process.env.SVC_TEST_SERVER_KILLS ?? 200),
  lanes: 2,
  changesMax: 3,
  ...(folder && { command: [process.execPath, '--no-env-file', join(bundles, folder, 'main.js')] }),
});
