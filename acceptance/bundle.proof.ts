import { beforeAll, describe, expect, test } from 'bun:test';
import { appendFileSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { run, svcFor } from './support/commands.ts';
import { type RunningServer, root, startEmbedded, temporaryFolder } from './support/server.ts';
import { until } from './support/until.ts';

const parts = ['server', 'contract', 'cli', 'sdk', 'console', 'templates', 'scripts'];
const files = ['package.json', 'package-lock.json', 'tsconfig.json', 'bunfig.toml'];

/** A copy with the installed packages of this project, where sources can be changed. */
async function newCopy(): Promise<string> {
  const copy = join(temporaryFolder(), 'svc');
  mkdirSync(join(copy, 'node_modules', '@svc'), { recursive: true });
  const copied = await run(['cp', '-a', ...[...parts, ...files].map((name) => join(root, name)), copy]);
  expect(copied.stderr).toBe('');
  const installed = join(root, 'node_modules');
  for (const name of readdirSync(installed))
    if (name !== '@svc' && name !== '.svc-bundle')
      symlinkSync(join(installed, name), join(copy, 'node_modules', name));
  for (const name of readdirSync(join(installed, '@svc')))
    symlinkSync(join(copy, name), join(copy, 'node_modules', '@svc', name));
  return copy;
}

const start = (copy: string) =>
  startEmbedded({ command: ['npm', '--prefix', copy, 'start'], readyMs: 200_000 });

const bundle = (copy: string) =>
  run([process.execPath, '--no-env-file', join(copy, 'scripts/bundle.ts')], { cwd: copy });

const manifestOf = (copy: string) =>
  JSON.parse(readFileSync(join(copy, 'node_modules/.svc-bundle/manifest.json'), 'utf8')) as {
    folder: string;
  };

/** The process ids of the programs that run for the data dir of this server, such as `main.js`. */
function programsOf({ dataDir }: RunningServer): Map<string, number> {
  const found = readdirSync('/proc')
    .filter(
      (name) => /^\d+$/.test(name) && read(`/proc/${name}/environ`).includes(`SVC_DATA_DIR=${dataDir}\0`),
    )
    .map((pid): [string, number] => [commandOf(pid), Number(pid)])
    .filter(([program]) => program !== '');
  return new Map(found.sort());
}

/** Of Bun alone: the launchers have the name of the program among their arguments too. */
function commandOf(pid: string): string {
  const [program = '', ...args] = read(`/proc/${pid}/cmdline`).replace(/\0$/, '').split('\0');
  return /bun[^/]*$/.test(program) ? basename(args.at(-1) ?? '') : '';
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

describe('npm start from a bundle', () => {
  let copy: string;
  let server: RunningServer;
  beforeAll(async () => {
    copy = await newCopy();
    expect((await bundle(copy)).stderr).toBe('');
    server = await start(copy);
  });

  test('runs the programs of the bundle', () => {
    expect([...programsOf(server).keys()]).toEqual(['agent.js', 'main.js', 'start.ts']);
  });

  test('finds what lies beside the sources: migrations, console, SDK, command line and explorer', async () => {
    const svc = svcFor(server);
    expect((await svc(['login', '--local'])).code).toBe(0);
    for (const path of [
      '/',
      '/sdk.tgz',
      '/cli.tgz',
      '/explorer/reference.js',
      '/oauth/.well-known/openid-configuration',
    ])
      expect([path, (await fetch(server.baseUrl + path)).status]).toEqual([path, 200]);
  });

  test('names the sources in a stack trace', async () => {
    const agent = join(copy, 'node_modules/.svc-bundle', manifestOf(copy).folder, 'agent.js');
    const { code, stderr } = await run([process.execPath, agent], { cwd: copy });
    expect([code, stderr]).toEqual([1, expect.stringMatching(/server\/src\/agent\.ts:\d+/)]);
  });

  test('runs a changed source at the next restart, and bundles it for the one after that', async () => {
    const before = manifestOf(copy).folder;
    // npm does not pass it on.
    const restart = () => process.kill(programsOf(server).get('start.ts') ?? 0, 'SIGHUP');
    appendFileSync(join(copy, 'server/src/main.ts'), "console.log('changed');\n");
    restart();
    const isRunning = (program: string) => async () => programsOf(server).has(program);
    await until('the server runs from its sources', isRunning('main.ts'), 60_000);
    await until('there is another bundle', async () => manifestOf(copy).folder !== before, 60_000);
    expect(server.output()).toContain('\nchanged\n');
    await until('the server is ready', async () => (await fetch(`${server.baseUrl}/readyz`)).ok, 60_000);
    restart();
    await until('the server runs from the new bundle', isRunning('main.js'), 60_000);
    expect(await server.stop()).toBe(0);
  });
});

test('npm start runs the sources where no bundle can be written', async () => {
  const copy = await newCopy();
  writeFileSync(join(copy, 'node_modules/.svc-bundle'), 'a file where the folder would be');
  expect((await bundle(copy)).stderr).toContain('The server was not bundled');
  const server = await start(copy);
  const programs = programsOf(server);
  // The server may be trying to make one for its next start.
  programs.delete('--background');
  expect([...programs.keys()]).toEqual(['agent.ts', 'main.ts', 'start.ts']);
  expect(await server.stop()).toBe(0);
});
