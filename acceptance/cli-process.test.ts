import { beforeAll, describe, expect, test } from 'bun:test';
import { chmodSync, existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { mapConcurrently } from '@svc/contract/concurrency.ts';
import { freePort } from '../scripts/free-port.ts';
import { patientMs } from '../scripts/patience.ts';
import { commandLine } from './support/command-inputs.ts';
import { commandList } from './support/command-list.ts';
import { type Ran, run, type Svc, svcFor } from './support/commands.ts';
import { root, temporaryFolder } from './support/server.ts';
import { everyNth, until } from './support/until.ts';

import { newWorld, type World } from './support/world.ts';

/** Processes of every nth command: `suites/cli.ts` runs all of them without a process. */
const nth = 27;

let world: World;
let svc: Svc;
/** Environment for shells in which `svc` works as the admin. */
let env: Record<string, string>;

beforeAll(async () => {
  world = await newWorld();
  const { server, slug } = world.tenant;
  env = {
    SVC_BASE_URL: server.baseUrl,
    SVC_TOKEN: world.people.A.token,
    SVC_TENANT: slug,
    SVC_CONFIG_DIR: join(temporaryFolder(), 'config'),
    PATH: `${root}:${process.env.PATH}`,
  };
  svc = svcFor(server, { token: world.people.A.token, tenant: slug }, 'process');
  const many = Array.from({ length: 60 }, (_, at) => ({
    name: `connector ${at}`,
    kind: 'http',
    description: 'x'.repeat(900),
  }));
  await mapConcurrently(many, 4, (body) => world.as.A('POST', `${world.tenant.base}/connectors`, body));
});

const shell = (script: string, more = {}): Promise<Ran> =>
  run(['bash', '-c', script], { env: { ...env, ...more }, cwd: temporaryFolder() });

/** The same in a terminal of `script`, whose stdout is the screen. */
const inTerminal = (line: string, more = {}): Promise<Ran> =>
  run(['script', '-qec', line, '/dev/null'], { env: { ...env, TERM: 'xterm-256color', ...more } });
const terminals = Bun.which('script') !== null;

const colour = '\u001b[';

describe('output', () => {
  test('svc ends without an error when its reader closes the pipe', async () => {
    for (const format of ['json', 'jsonl', 'yaml', 'table']) {
      const script = `svc connectors list --all -o ${format} | head -1 >/dev/null; echo "\${PIPESTATUS[0]}"`;
      const ran = await shell(`set -o pipefail; ${script}`);
      expect([format, ran.stderr]).toEqual([format, '']);
      expect([format, ['0', '141'].includes(ran.stdout.trim())]).toEqual([format, true]);
    }
  });

  test.if(existsSync('/dev/full'))('a full disk is reported', async () => {
    const full = await shell('svc connectors list --json > /dev/full');
    expect([full.code, full.stdout]).toEqual([1, '']);
    expect(full.stderr).not.toBe('');
  });

  test('output to a pipe has no colour and is not truncated', async () => {
    const line = ['connectors', 'create', '--name', 'plain', '--kind', 'http'];
    const quiet = { NO_COLOR: undefined, FORCE_COLOR: undefined, COLUMNS: undefined };
    expect((await svc(line, { env: quiet })).stdout).not.toContain(colour);
    const table = (await svc(['connectors', 'list', '--per-page', '5'], { env: quiet })).stdout;
    const json = await svc(['connectors', 'list', '--per-page', '5', '--json']);
    const { items } = json.json<{ items: { id: string; slug: string }[] }>();
    for (const { id, slug } of items)
      expect([table.includes(id), table.includes(slug)]).toEqual([true, true]);
  });

  test.if(terminals)('output to a terminal has colour unless NO_COLOR is set', async () => {
    const line = 'svc connectors create --name coloured --kind http';
    const colourful = await inTerminal(line, { NO_COLOR: '', CI: '' });
    expect([colourful.code, colourful.stdout.includes(colour)]).toEqual([0, true]);
    const plain = await inTerminal(line, { NO_COLOR: '1' });
    expect([plain.code, plain.stdout.includes(colour)]).toEqual([0, false]);
  });

  test('with LC_ALL=C text for people is plain ASCII, and JSON keeps the exact data', async () => {
    const name = 'Zürich 東京 🚲';
    const made = await world.as.A('POST', `${world.tenant.base}/connectors`, {
      name,
      slug: 'zurich',
      kind: 'http',
    });
    expect(made.status).toBe(201);
    const locale = { env: { LC_ALL: 'C', LANG: 'C' } };
    const json = await svc(['connectors', 'get', 'zurich', '--json'], locale);
    expect(json.json<{ name: string }>().name).toBe(name);
    for (const args of [
      ['connectors', 'update', 'zurich', '--description', 'changed'],
      ['grants', '--help'],
      ['connectors', 'list'],
    ]) {
      const ran = await svc(args, locale);
      expect([args, ran.code, ran.stderr]).toEqual([args, 0, expect.any(String)]);
      // Only the tool's own texts; quoted input stays unchanged.
      expect(ran.stdout.replaceAll(/Zürich|東京|🚲|x…/g, '')).toMatch(/^[\x20-\x7e\n]*$/);
    }
  });

  test('--quiet prints only the result on stdout and nothing on stderr', async () => {
    const ran = await svc(['connectors', 'list', '--quiet', '--per-page', '1']);
    expect([ran.code, ran.stderr]).toEqual([0, '']);
    expect(ran.stdout).not.toBe('');
  });
});

describe('where it runs', () => {
  test('runs from any folder, through links, under another name, and with spaces in the path', async () => {
    const folder = join(temporaryFolder(), 'a folder');
    mkdirSync(folder);
    symlinkSync(join(root, 'svc'), join(folder, 'first'));
    symlinkSync('first', join(folder, 'my svc'));
    const there = temporaryFolder();
    for (const command of [join(root, 'svc'), join(folder, 'first'), join(folder, 'my svc')]) {
      const ran = await run([command, 'whoami', '--json'], { env, cwd: there });
      expect([command, ran.code, ran.stderr]).toEqual([command, 0, '']);
    }
    const relative = await run(['bash', '-c', `cd '${folder}' && ./'my svc' version`], { env });
    expect(relative.code).toBe(0);
    expect((await shell('svc version')).code).toBe(0);
  });

  test('connects to a server on this machine despite an unreachable proxy in the environment', async () => {
    const proxy = `http://127.0.0.1:${freePort()}`;
    const names = ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'https_proxy', 'ALL_PROXY'];
    const proxies = Object.fromEntries(names.map((name) => [name, proxy]));
    for (const more of [
      {},
      { NO_PROXY: 'example.com' },
      { SVC_BASE_URL: env.SVC_BASE_URL!.replace('localhost', '127.0.0.1') },
    ]) {
      const ran = await svc(['whoami'], { env: { ...proxies, ...more } });
      expect([more, ran.code, ran.stderr]).toEqual([more, 0, '']);
    }
  });

  test('runs without a home folder, with a read-only one, and without its files', async () => {
    const home = temporaryFolder();
    chmodSync(home, 0o500);
    const where = { SVC_CONFIG_DIR: undefined, XDG_CONFIG_HOME: undefined };
    expect((await svc(['whoami'], { env: { ...where, HOME: home } })).code).toBe(0);
    expect((await svc(['whoami'], { env: { ...where, HOME: join(home, 'gone') } })).code).toBe(0);
    expect((await svc(['version'], { env: { ...where, HOME: undefined } })).code).toBe(0);
    const xdg = temporaryFolder();
    const login = await svc(['login', '--local'], {
      env: { ...where, SVC_TOKEN: undefined, XDG_CONFIG_HOME: xdg },
    });
    expect([login.code, existsSync(join(xdg, 'svc', 'credentials.json'))]).toEqual([0, true]);
  });

  test('ends by itself with stdin closed, and with every stream closed', async () => {
    expect((await shell('svc whoami --json <&-')).code).toBe(0);
    expect((await shell('svc whoami --json <&- 2>&-')).code).toBe(0);
    expect((await shell('svc login --token-stdin <&-', { SVC_TOKEN: '' })).code).toBe(2);
  });
});

describe('people and signals', () => {
  test('commands end by themselves without a terminal, also without --yes', async () => {
    const mutating = (await commandList()).filter(({ mutates }) => mutates);
    await mapConcurrently(everyNth(mutating, nth), 4, async ({ words }) => {
      const { args, stdin, ...rest } = await commandLine(words, world);
      // An open stdin without input, unless the command reads it: a prompt would wait for ever.
      const child = Bun.spawn([join(root, 'svc'), ...args, '--execute'], {
        env: { ...process.env, ...env, ...rest.env } as Record<string, string>,
        stdin: stdin === undefined ? 'pipe' : new Blob([stdin]),
        stdout: 'ignore',
        stderr: 'pipe',
      });
      const ended = await Promise.race([child.exited, Bun.sleep(patientMs(10_000))]);
      child.kill();
      expect([words, ended === 0 || ended === 11]).toEqual([words, true]);
    });
  });

  test('Ctrl-C during a request exits with 130 and no result; a second one exits immediately', async () => {
    const never = Promise.withResolvers<Response>();
    let asked = 0;
    const silent = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      idleTimeout: 60,
      fetch: () => {
        asked += 1;
        return never.promise;
      },
    });
    const address = `http://127.0.0.1:${silent.port}`;
    for (const [at, line] of [
      ['whoami'],
      ['presets', 'create', '--name', 'x', '--actions', 'read', '--execute', '--json'],
    ].entries()) {
      const child = Bun.spawn([join(root, 'svc'), ...line], {
        env: { ...process.env, ...env, SVC_BASE_URL: address },
        stdin: 'ignore',
        stdout: 'pipe',
        stderr: 'pipe',
      });
      await until('the request is under way', async () => asked > at);
      const began = performance.now();
      child.kill('SIGINT');
      child.kill('SIGINT');
      expect(await child.exited).toBe(130);
      expect(performance.now() - began).toBeLessThan(patientMs(1000));
      expect(await new Response(child.stdout).text()).toBe('');
      const stderr = await new Response(child.stderr).text();
      expect(stderr).not.toMatch(/\bat .*\.ts:\d+/);
    }
    await silent.stop(true);
  });

  test('--verbose shows each request, and no secret', async () => {
    const created = await svc(['pats', 'create', '--name', 'shown once', '--execute', '--json', '--verbose']);
    const { secret } = created.json<{ secret: string }>();
    expect(created.stderr).toMatch(/POST \S+\/pats 201 \S+/);
    expect(created.stderr).not.toContain(secret);
    const plain = await svc(['pats', 'create', '--name', 'shown once, too', '--execute', '--verbose']);
    expect(plain.stdout).toContain('svcpat_');
    const local = await svc(['login', '--local', '--verbose', '--json'], { env: { SVC_TOKEN: undefined } });
    const { secret: localSecret } = await Bun.file(
      join(world.tenant.server.dataDir, 'local-login.json'),
    ).json();
    const failed = await svc(['whoami', '--verbose'], { env: { SVC_TOKEN: 'not-a-valid-token' } });
    for (const text of [created.stderr, plain.stderr, local.stdout, local.stderr, failed.stderr]) {
      expect(text).not.toContain(world.people.A.token);
      expect(text).not.toContain('svcpat_');
      expect(text).not.toContain('not-a-valid-token');
      expect(text).not.toContain(localSecret);
      expect(text).not.toMatch(/bearer|authorization/i);
    }
  });
});

describe('completion', () => {
  /** Completions of bash after the line, through the script that `svc completion bash` prints. */
  async function offered(...typed: string[]): Promise<string[]> {
    const words = ['svc', ...typed].map((word) => `'${word}'`).join(' ');
    const { code, stdout, stderr } = await shell(`
    eval "$(svc completion bash)"
    COMP_WORDS=(${words}); COMP_CWORD=${typed.length}
    $(complete -p svc | sed 's/.*-F \\([^ ]*\\).*/\\1/') svc '${typed.at(-1)}' '${typed.at(-2) ?? 'svc'}'
    printf '%s\\n' "\${COMPREPLY[@]}"`);
    expect([typed, code, stderr]).toEqual([typed, 0, '']);
    return stdout.split('\n').filter(Boolean);
  }

  test('bash completes words, flags and values', async () => {
    expect(await offered('gra')).toEqual(['grants']);
    const words = ['mine', 'tables', 'list', 'get', 'create', 'revoke', 'scope', 'request', 'requests'];
    expect(await offered('grants', '')).toEqual(words);
    expect(await offered('--tenant', 'x', 'grants', 'sc')).toEqual(['scope']);
    expect(await offered('grants', 'create', '--conn')).toEqual(['--connector']);
    expect(await offered('connectors', 'create', '--kind', '')).toEqual([
      'tables',
      'postgres',
      'mysql',
      'http',
    ]);
    expect(await offered('connectors', 'create', '--kind', '=', 'p')).toEqual(['postgres']);
    expect(await offered('completion', 'b')).toEqual(['bash']);
  });

  test('bash offers nothing after an unknown command', async () => {
    expect(await offered('nonsense', '')).toEqual([]);
    expect(await offered('grants', 'nonsense', '')).toEqual([]);
  });

  test.each(['bash', 'zsh', 'fish'])('prints a completion script for %s', async (name) => {
    const ran = await svc(['completion', name]);
    expect([ran.code, ran.stdout.includes('__complete')]).toEqual([0, true]);
  });
});
