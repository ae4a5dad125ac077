import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { useFakeServer } from '../testing/fake-server.ts';
import { newFolder, writeLogin } from '../testing/run-svc.ts';

const server = useFakeServer();
server.oauth.tokens.add('access-1');
const main = resolve(import.meta.dir, 'main.ts');
const config = newFolder();
await writeLogin(config, server.url);
const env = {
  PATH: process.env.PATH,
  HOME: newFolder(),
  LANG: 'C.UTF-8',
  SVC_CONFIG_DIR: config,
  SVC_TENANT: 'demo',
};

function start(argv: string[], more: Record<string, string | undefined> = {}) {
  return Bun.spawn([process.execPath, main, ...argv], {
    env: { ...env, ...more },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
}

const textOf = (stream: ReadableStream) => new Response(stream).text();

async function finish(child: ReturnType<typeof start>) {
  const [out, err, exit] = await Promise.all([textOf(child.stdout), textOf(child.stderr), child.exited]);
  return { out, err, exit };
}

const svc = (argv: string[], more = {}) => finish(start(argv, more));
const shell = (script: string, more = {}) => {
  const ran = Bun.spawnSync(['bash', '-c', `svc() { ${process.execPath} ${main} "$@"; }\n${script}`], {
    env: { ...env, ...more },
  });
  return { out: ran.stdout.toString(), err: ran.stderr.toString(), exit: ran.exitCode };
};

describe('signals', () => {
  test('SIGINT during a request ends it with 130', async () => {
    server.intercept = () => Bun.sleep(3000).then(() => Response.json([]));
    const child = start(['grants', 'mine']);
    while (server.seen.length === 0) await Bun.sleep(5);
    child.kill('SIGINT');
    expect(await finish(child)).toMatchObject({ exit: 130, out: '' });
  });

  test('a second SIGINT ends the process', async () => {
    server.intercept = () => Bun.sleep(3000).then(() => Response.json([]));
    const child = start(['grants', 'mine']);
    while (server.seen.length === 0) await Bun.sleep(5);
    child.kill('SIGINT');
    child.kill('SIGINT');
    expect((await finish(child)).exit).toBe(130);
  });

  // The process of a command that ignores Ctrl-C is ended after a second.
  test.each(['/runs', '/cancel'])(
    'svc run stops its command, although POST …%s takes longer',
    async (slow) => {
      let isCanceled = false;
      server.intercept = async ({ method }, { path }) => {
        if (method === 'POST' && path.endsWith(slow)) await Bun.sleep(2_000);
        if (path.endsWith('/cancel')) isCanceled = true;
        if (path.endsWith('/logs')) return Response.json({ items: [], next_cursor: 'c', ended: false });
        return /\/runs\/[^/]+$/.test(path)
          ? Response.json({ state: isCanceled ? 'canceled' : 'running' })
          : undefined;
      };
      const child = start(['run', '--app', 'shop', '--', 'sleep 600']);
      const isTime = () =>
        server.seen.some(({ path }) => path.endsWith(slow === '/runs' ? '/runs' : '/logs'));
      while (!isTime()) await Bun.sleep(5);
      child.kill('SIGINT');
      expect(await finish(child)).toMatchObject({
        exit: 130,
        err: expect.stringContaining('The command is stopped.'),
      });
      expect(isCanceled).toBe(true);
    },
  );
});

describe('streams', () => {
  test('a closed pipe is not an error', async () => {
    const grants = Array.from({ length: 5000 }, (_, at) => ({ id: `id-${at}`.padEnd(80, 'x') }));
    server.intercept = (_, { path }) => (path.endsWith('/me/grants') ? Response.json(grants) : undefined);
    for (const format of ['json', 'jsonl', 'table', 'yaml']) {
      const child = Bun.spawn(
        [
          'bash',
          '-c',
          `${process.execPath} ${main} grants mine -o ${format} | head -1 >/dev/null; echo \${PIPESTATUS[0]}`,
        ],
        { env, stdout: 'pipe', stderr: 'pipe' },
      );
      expect([format, (await textOf(child.stdout)).trim(), await textOf(child.stderr)]).toEqual([
        format,
        '0',
        '',
      ]);
    }
  });

  test('a large result is complete through a slow pipe', async () => {
    const rows = Array.from({ length: 20_000 }, (_, at) => ({ id: at, text: 'x'.repeat(50) }));
    server.intercept = () => Response.json(rows);
    const child = start(['grants', 'mine', '--json']);
    await Bun.sleep(200);
    expect(JSON.parse((await finish(child)).out)).toEqual(rows);
  });

  test('closed streams are tolerated', () => {
    expect(shell('svc version <&-').exit).toBe(0);
    expect(shell('svc nonsense 2>&-').exit).toBe(2);
    expect(shell('svc version >&-').exit).toBeLessThan(2);
  });

  test('a full disk is reported', () => {
    expect(shell('svc exit-codes > /dev/full')).toMatchObject({
      exit: 1,
      err: expect.stringContaining('output_failed'),
    });
  });
});

describe.if(Bun.which('script') !== null)('a terminal', () => {
  const inTerminal = async (line: string, more = {}) => {
    const wrapped = `stty cols 60; ${process.execPath} ${main} ${line}`;
    const child = Bun.spawn(['script', '-qec', wrapped, '/dev/null'], {
      env: { ...env, TERM: 'xterm', ...more },
      stdin: 'ignore',
      stdout: 'pipe',
    });
    return (await textOf(child.stdout)).replaceAll('\r', '');
  };

  test('gets colours and its own width', async () => {
    const out = await inTerminal('exit-codes');
    expect(out).toContain('\u001b[1m');
    for (const line of out.split('\n')) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(60);
  });

  test('gets no colour with NO_COLOR or TERM=dumb, and keeps its width', async () => {
    for (const more of [{ NO_COLOR: '1' }, { TERM: 'dumb' }]) {
      const out = await inTerminal('exit-codes', more);
      expect(out).not.toContain('\u001b');
      for (const line of out.split('\n')) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(60);
    }
  });

  test('errors have no colors by default', async () => {
    expect(await inTerminal('nonsense')).not.toContain('\u001b');
  });
});

describe('a pipe', () => {
  test('gets no colour and no truncation, unless COLUMNS sets the width', async () => {
    const { out } = await svc(['exit-codes']);
    expect(out).not.toContain('\u001b');
    expect(out).toContain('confirmation missing without a terminal');
    for (const line of (await svc(['exit-codes'], { COLUMNS: '40' })).out.split('\n')) {
      expect(Bun.stringWidth(line)).toBeLessThanOrEqual(40);
    }
  });

  test('in a plain locale gets plain text', async () => {
    for (const argv of [['exit-codes'], ['connectors', 'delete', 'x'], ['--help']]) {
      const { out } = await svc(argv, { LC_ALL: 'C', COLUMNS: '50' });
      expect(out).toMatch(/^[\x20-\x7e\n]+$/);
    }
  });
});

describe('proxies', () => {
  test('are not used for this machine', async () => {
    const proxies = {
      HTTP_PROXY: 'http://127.0.0.1:1',
      http_proxy: 'http://127.0.0.1:1',
      NO_PROXY: 'example.com',
    };
    expect((await svc(['whoami'], proxies)).exit).toBe(0);
  });

  test('are used for others', async () => {
    const proxied: string[] = [];
    const proxy = Bun.serve({
      port: 0,
      fetch(request) {
        proxied.push(request.url);
        return Response.json([]);
      },
    });
    const more = {
      http_proxy: `http://127.0.0.1:${proxy.port}`,
      SVC_BASE_URL: 'http://svc.invalid',
      SVC_TOKEN: 't',
    };
    expect((await svc(['grants', 'mine', '--json'], more)).out).toBe('[]\n');
    expect(proxied).toEqual(['http://svc.invalid/api/v1/tenants/demo/me/grants']);
    await proxy.stop(true);
  });
});

test('--version prints before anything else is loaded', async () => {
  const { version } = JSON.parse(readFileSync(join(import.meta.dir, '../package.json'), 'utf8'));
  expect(await svc(['--version'], { SVC_CONFIG_DIR: '/proc/none' })).toEqual({
    exit: 0,
    out: `svc ${version}\n`,
    err: '',
  });
});

test('a plain command loads no schema and no slow module', async () => {
  const script = `
    process.argv = [process.argv[0], process.argv[1], 'whoami'];
    const exit = process.exit;
    process.exit = () => {
      const loaded = [...Object.keys(require.cache), ...(globalThis.Loader?.registry?.keys() ?? [])];
      console.error(JSON.stringify(loaded));
      exit(0);
    };
    await import(${JSON.stringify(main)});`;
  const child = Bun.spawn([process.execPath, '-e', script], { env, stdout: 'ignore', stderr: 'pipe' });
  const loaded: string[] = JSON.parse(await textOf(child.stderr));
  const costly = loaded.filter((path) =>
    /zod|yaml|clack|shapes\.ts|all\.ts|node:|parse\.ts|help\.ts/.test(path),
  );
  expect(loaded.some((path) => path.endsWith('session.ts'))).toBe(true);
  expect(costly).toEqual([]);
});

test('an empty result leaves a redirected file as it is', () => {
  const file = join(newFolder(), 'file');
  const ran = shell(
    `(echo before; svc __complete frob ''; echo after) > ${file}; svc __complete frob '' >> ${file}`,
  );
  expect([ran.exit, readFileSync(file, 'utf8')]).toEqual([0, 'before\nafter\n']);
});
