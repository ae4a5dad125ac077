import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { processWorld } from '../server/src/drivers/runtime/process/testing.ts';
import { openBench } from '../server/src/drivers/runtime/testing.ts';
import { withCleanup } from './rows/cleanup.ts';
import { flag, wordFlag } from './static/flags.ts';

/**
 * The first build of a scaffolded project and the next one, after a change of the source: with the build cache, it should
 * take a third of the time. Needs the npm registry. `--only=vite|next`, `--goal=3`.
 */
export async function main(): Promise<void> {
  const only = wordFlag('only');
  const goal = flag('goal', 3);
  if (only !== null && !projects.some(({ name }) => name === only))
    throw new Error(`--only is one of ${projects.map(({ name }) => name).join(', ')}.`);
  await withCleanup(async (cleanup) => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-bench-build-'));
    cleanup.add(async () => rmSync(folder, { recursive: true, force: true }));
    for (const project of projects.filter(({ name }) => !only || only === name)) {
      const world = processWorld();
      const bench = openBench(world, await world.open());
      cleanup.add(() => world.close());
      cleanup.add(() => bench.runtime.close());
      const source = await scaffold(folder, project);
      const app = bench.app('web');
      const page = join(source, project.page);
      Object.assign(app.sample, { files: { ...project.files, [project.page]: readFileSync(page, 'utf8') } });
      Object.assign(app.sample.plan, {
        // `npm ci` refuses a lock file from a registry that lacks the packages of other platforms.
        installCommand: 'npm install',
        buildCommand: 'npm run build',
        startCommand: 'true',
      });
      const measure = async () => {
        cpSync(source, app.sourceDir, { recursive: true, filter: (path) => !isInstalled.test(path) });
        const from = performance.now();
        await app.build().catch((error: unknown) => {
          console.error(app.lines().slice(-20).join('\n'));
          throw error;
        });
        return (performance.now() - from) / 1000;
      };
      const cold = await measure();
      app.sample.files[project.page] += '\n// changed\n';
      const warm = Math.min(await measure(), await measure());
      const { text, exitCode } = describeBuild({ name: project.name, cold, warm, goal });
      console.log(text);
      process.exitCode = Math.max(Number(process.exitCode ?? 0), exitCode);
    }
  });
}

/** Seconds of the first build and of the next one. Exit code 1 if the goal is missed. */
export function describeBuild({
  name,
  cold,
  warm,
  goal,
}: Record<'cold' | 'warm' | 'goal', number> & { name: string }) {
  const ratio = cold / warm;
  const isMet = ratio >= goal;
  return {
    text: `${name}: cold ${cold.toFixed(1)} s, warm ${warm.toFixed(1)} s: ${ratio.toFixed(1)} times as fast, goal ${goal}: ${isMet ? 'PASS' : 'MISS'}`,
    exitCode: isMet ? 0 : 1,
  };
}

const isInstalled = /\/(?:node_modules|\.git)$/;

interface Project {
  name: string;
  create: readonly string[];
  page: string;
  files?: Record<string, string>;
}

const projects: readonly Project[] = [
  { name: 'vite', create: ['create-vite@9', 'vite', '--template', 'react-ts'], page: 'src/App.tsx' },
  {
    name: 'next',
    create: ['create-next-app@16', 'next', '--yes', '--skip-install', '--disable-git'],
    page: 'app/page.tsx',
    // Its own layout fetches fonts from another host.
    files: {
      'app/layout.tsx':
        'export default ({ children }: { children: React.ReactNode }) => (<html><body>{children}</body></html>);\n',
    },
  },
];

async function scaffold(folder: string, { name, create }: Project): Promise<string> {
  const dir = join(folder, name);
  await run(folder, ['npx', '--yes', ...create]);
  await run(dir, ['npm', 'install', '--ignore-scripts']);
  return dir;
}

async function run(cwd: string, command: string[]): Promise<void> {
  const child = Bun.spawn(command, {
    cwd,
    env: { ...process.env, CI: '1' },
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'inherit',
  });
  if ((await child.exited) !== 0) throw new Error(`${command.join(' ')} failed.`);
}
