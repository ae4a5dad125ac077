// Makes the bundles that `npm start` runs: an installation does it, and a server whose sources have changed.
import { setPriority } from 'node:os';
import { projectRoot } from '../server/src/core/project-root.ts';
import { makeBundle } from '../server/src/supervisor/make-bundle.ts';

const lowestPriority = 19;

if (process.argv.includes('--background')) setPriority(lowestPriority);
try {
  await makeBundle(projectRoot);
} catch (error) {
  // The sources run without it, for example of an installation that is read-only.
  console.error(`The server was not bundled: ${error instanceof Error ? error.message : String(error)}`);
}
