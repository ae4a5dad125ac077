import { expect, test } from 'bun:test';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { useFixture } from '../../../../scripts/use-fixture.ts';
import { createHelperLauncher, serveGitHelper } from './git-launcher.ts';

const helper = useFixture(
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-git-helper-'));
    const path = join(folder, 'helper.sock');
    const { close } = await serveGitHelper(path);
    return { folder, path, close };
  },
  ({ folder, close }) => {
    close();
    rmSync(folder, { recursive: true, force: true });
  },
);

const start = (argv: readonly string[], path = helper.path) =>
  createHelperLauncher(async () => path).start({
    argv,
    folders: [],
    usesNetwork: false,
    env: { PATH: '/usr/bin:/bin' },
  });

/** All that a command says of its end, until nothing more comes. */
async function endsOf(child: ReturnType<typeof start>): Promise<string[]> {
  const ends: string[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  child.on('error', (error: Error) => resolve(void ends.push(error.message)));
  child.on('close', (code: number | null) => resolve(void ends.push(`code ${code}`)));
  await promise;
  await new Promise(setImmediate);
  return ends;
}

test('bytes go in and come out, however many', async () => {
  const child = start(['cat']);
  const ends = endsOf(child);
  const sent = Buffer.alloc(5_000_000, 'git');
  child.stdin?.end(sent);
  const received: Buffer[] = [];
  for await (const piece of child.stdout ?? []) received.push(piece as Buffer);
  expect(Buffer.concat(received).equals(sent)).toBeTrue();
  expect(await ends).toEqual(['code 0']);
});

test('a process that is not there is one error', async () => {
  const child = start(['true'], join(helper.folder, 'missing.sock'));
  const ends = await endsOf(child);
  expect(ends).toEqual([expect.stringContaining('ENOENT')]);
});

test('a process that ends during a command is one error, also for what is being written', async () => {
  const path = join(helper.folder, 'short-lived.sock');
  const server: Server = createServer((socket) => socket.once('data', () => socket.destroy()));
  await new Promise<void>((resolve) => server.listen(path, resolve));
  const child = start(['cat'], path);
  child.stdin?.write('never taken');
  const ends = await endsOf(child);
  server.close();
  expect(ends).toEqual(['The process that starts git has ended.']);
});

test('a command whose reader has gone ends by a kill, also after git itself has ended', async () => {
  const child = start(['sh', '-c', 'head -c 8000 /dev/zero']);
  const ends = endsOf(child);
  child.stdout?.on('readable', () => {});
  await once(child.stdin!, 'close');
  child.kill('SIGTERM');
  expect(await ends).toEqual(['code 0']);
});

test('a command that takes no input can be killed', async () => {
  const child = start(['sleep', '600']);
  const ends = endsOf(child);
  child.stdin?.write(Buffer.alloc(5_000_000));
  child.kill('SIGKILL');
  expect(await ends).toEqual(['code null']);
});

test('a request that is none ends with an error, and the next one is answered', async () => {
  const socket = connect(helper.path);
  await once(socket, 'connect');
  socket.write(Buffer.from([0, 0, 0, 0, 1, 0x7b]));
  const [answer] = (await once(socket, 'data')) as [Buffer];
  expect(answer.toString()).toContain('error');
  socket.destroy();
  expect(await endsOf(start(['true']))).toEqual(['code 0']);
});
