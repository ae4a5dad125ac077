import { mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { type Cleanup, withCleanup } from './rows/cleanup.ts';
import { takeTurns, turn } from './rows/governed-case.ts';
import { serverLoads } from './rows/loads.ts';
import { type Prepared, prepare } from './rows/prepare.ts';
import { runWrk } from './rows/run-wrk.ts';
import { root } from './rows/start-server.ts';
import { findTools } from './rows/tools.ts';

/** Rounds of one commit differ by as much. */
const notSlowerMin = 0.97;
const cases = ['point', 'list', 'insert'] as const;

/** The row API of this tree beside that of another commit, taking turns: `npm run bench compare -- <commit> [--only=point]`. */
export async function main(): Promise<void> {
  const [commit] = process.argv.slice(3).filter((arg) => !arg.startsWith('--'));
  const only = process.argv.find((arg) => arg.startsWith('--only='))?.slice('--only='.length);
  if (!commit) throw new Error('Usage: npm run bench compare -- <commit> [--only=point|list|insert]');
  const tools = findTools();
  await withCleanup(async (cleanup) => {
    const earlier = await prepare(cleanup, {}, checkOut(commit, cleanup));
    const now = await prepare(cleanup);
    for (const name of cases) {
      if (only !== undefined && only !== name) continue;
      const run = (prepared: Prepared, label: string) => {
        const { server, pat, reads, inserts } = prepared;
        const paths = { port: server.port, pat, reads: reads.path, inserts: inserts.path };
        const load = { ...serverLoads(paths)[name], name: `${name}-${label}` };
        return turn((seconds) => runWrk(tools.wrk, server.folder, load, { seconds, cleanup }), prepared);
      };
      await takeTurns(`${name}: this tree to ${commit}`, notSlowerMin, {
        [commit]: run(earlier, 'earlier'),
        'this tree': run(now, 'now'),
      });
    }
  });
}

/** The commit in a folder of its own, with the packages that are installed here; its workspaces are its own. */
export function checkOut(commit: string, cleanup: Cleanup): string {
  const folder = cleanup.temporaryFolder();
  const archive = Bun.spawnSync(['git', '-C', root, 'archive', '--format=tar', commit], {
    stderr: 'inherit',
  });
  if (!archive.success) throw new Error(`There is no commit ${commit}.`);
  const unpacked = Bun.spawnSync(['tar', '-x', '-C', folder], { stdin: archive.stdout, stderr: 'inherit' });
  if (!unpacked.success) throw new Error(`${commit} could not be unpacked.`);
  const own = '@svc';
  mkdirSync(join(folder, 'node_modules', own), { recursive: true });
  const link = (name: string, target: string) => symlinkSync(target, join(folder, 'node_modules', name));
  for (const name of readdirSync(join(root, 'node_modules')))
    if (name !== own) link(name, join(root, 'node_modules', name));
  for (const name of readdirSync(join(root, 'node_modules', own))) link(join(own, name), join(folder, name));
  return folder;
}
