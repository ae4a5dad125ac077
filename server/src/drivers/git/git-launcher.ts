import { EventEmitter } from 'node:events';
import { chmod, mkdir, rm } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { PassThrough, Writable } from 'node:stream';
import { runProgram } from '../os/processes.ts';
import { type GitChild, type GitCommand, startGit } from './git-sandbox.ts';

export interface GitLauncher {
  start(command: GitCommand): GitChild;
  /** Whether git cannot read or write the files of this process. */
  isOtherUser: boolean;
  makeFolder(path: string): Promise<void>;
  /** For a folder that this process has made. */
  share(path: string): Promise<void>;
  /** With the files that git has closed to others. */
  remove(path: string): Promise<void>;
}

/** Git has the user of this process. */
export function createLocalLauncher(): GitLauncher {
  return {
    start: startGit,
    isOtherUser: false,
    async makeFolder(path) {
      await mkdir(path, { recursive: true, mode: 0o700 });
    },
    share: async () => {},
    remove: removeFolder,
  };
}

/**
 * Git has a user of its own (decision 138). This process is in the group of that user, to which its folders pass on their
 * group.
 */
export function createHelperLauncher(socketPath: () => Promise<string>): GitLauncher {
  const share = (path: string) => chmod(path, sharedMode);
  return {
    start: (command) => connectGitHelper(socketPath, command),
    isOtherUser: true,
    async makeFolder(path) {
      await mkdir(path, { recursive: true });
      await share(path);
    },
    share,
    async remove(path) {
      await removeFolder(path).catch(async () => {
        await removeByHelper(await socketPath(), path);
        await removeFolder(path);
      });
    },
  };
}

export const sharedMode = 0o2770;
/** With `sharedMode` above them, files are open to the two users alone. */
export const gitUmask = 0o002;
export const gitSocketVariable = 'SVC_GIT_SOCKET';
/** In the data dir. */
export const gitFolderNames = { repositories: 'git', work: 'git-work' } as const;

const removeFolder = (path: string) => rm(path, { recursive: true, force: true, maxRetries: 3 });

/** Between folders of this process and of git. */
export async function copyFiles(from: string, to: string): Promise<void> {
  const { status, output } = await runProgram('cp', ['-RP', `${from}/.`, `${to}/`], { cwd: '/' });
  if (status !== 0) throw new Error(`cp failed: ${output.slice(0, 500)}`);
}

export async function openToGroup(path: string): Promise<void> {
  const { status, output } = await runProgram('chmod', ['-R', 'g+rX', '--', path], { cwd: '/' });
  if (status !== 0) throw new Error(`chmod failed: ${output.slice(0, 500)}`);
}

/**
 * Between the server and the process that starts git as another user: one connection for each command. The first frame is the
 * request; then bytes go both ways, and the exit code comes last.
 */
type HelperRequest = { run: GitCommand } | { remove: string };

/**
 * Each frame is its kind, the length of its content in four bytes, and its content. The next input waits until git has taken the one
 * before: the helper can always read a signal.
 */
const kinds = {
  request: 0,
  input: 1,
  inputEnd: 2,
  signal: 3,
  output: 4,
  errors: 5,
  exit: 6,
  taken: 7,
} as const;
type Kind = (typeof kinds)[keyof typeof kinds];
const headBytes = 5;
const frameBytesMax = 64 * 1024 * 1024;
const inputBytesMax = 1024 * 1024;

function frame(kind: Kind, content: string | Uint8Array = ''): Buffer {
  const bytes = Buffer.from(content as Uint8Array);
  const head = Buffer.alloc(headBytes);
  head.writeUInt8(kind, 0);
  head.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([head, bytes]);
}

function readFrames(socket: Socket, onFrame: (kind: number, content: Buffer) => void): void {
  let waiting: Buffer = Buffer.alloc(0);
  socket.on('data', (piece: Buffer) => {
    waiting = waiting.length === 0 ? piece : Buffer.concat([waiting, piece]);
    let at = 0;
    while (waiting.length - at >= headBytes) {
      const length = waiting.readUInt32BE(at + 1);
      if (length > frameBytesMax) return void socket.destroy();
      const end = at + headBytes + length;
      if (waiting.length < end) break;
      onFrame(waiting.readUInt8(at), waiting.subarray(at + headBytes, end));
      at = end;
    }
    waiting = waiting.subarray(at);
  });
}

/** Writes to a stream, and reads no more of the socket while the stream is full. */
function pour(socket: Socket, into: Writable, content: Buffer): void {
  if (into.write(content) || into.destroyed) return;
  socket.pause();
  const resume = () => {
    into.off('drain', resume).off('close', resume).off('error', resume);
    socket.resume();
  };
  into.once('drain', resume).once('close', resume).once('error', resume);
}

function connectGitHelper(socketPath: () => Promise<string>, command: GitCommand): GitChild {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const killed = Promise.withResolvers<void>();
  let isClosed = false;
  let isKilled = false;
  let exit: { code: number | null } | { error: string } | null = null;
  let inputTaken: ((error?: Error) => void) | null = null;
  const connected = socketPath().then((path) => open(path));
  const send = (kind: Kind, content?: string | Uint8Array) =>
    connected.then((socket) => void (isClosed || socket.write(frame(kind, content)))).catch(() => {});
  const stdin = new Writable({
    write(piece: Uint8Array, _, done) {
      const sendFrom = (at: number, error?: Error) => {
        inputTaken = null;
        if (error || at >= piece.length) return done(error);
        if (isClosed) return done(endedError());
        inputTaken = (failed) => sendFrom(at + inputBytesMax, failed);
        void send(kinds.input, piece.subarray(at, at + inputBytesMax));
      };
      sendFrom(0);
    },
    final(done) {
      void send(kinds.inputEnd).then(() => done());
    },
  });
  stdin.on('error', () => {});

  function open(path: string): Promise<Socket> {
    const opened = Promise.withResolvers<Socket>();
    const socket = connect(path);
    socket.once('connect', () => {
      socket.write(frame(kinds.request, JSON.stringify({ run: command } satisfies HelperRequest)));
      opened.resolve(socket);
    });
    socket.on('error', opened.reject);
    // Nobody reads the output of a command that was killed.
    const add = (stream: Writable, content: Buffer) => isKilled || pour(socket, stream, content);
    readFrames(socket, (kind, content) => {
      if (kind === kinds.output) add(stdout, content);
      else if (kind === kinds.errors) add(stderr, content);
      else if (kind === kinds.taken) inputTaken?.();
      else if (kind === kinds.exit) {
        exit = JSON.parse(content.toString('utf8'));
        socket.end();
      }
    });
    socket.once('close', () => opened.promise.then(() => finish(), finish));
    return opened.promise;
  }

  /** Emits one end, whatever happens after it. */
  async function finish(error?: Error): Promise<void> {
    if (isClosed) return;
    isClosed = true;
    inputTaken?.(endedError());
    stdin.destroy();
    const read = Promise.all(
      [stdout, stderr].map((stream) => new Promise((done) => stream.once('close', done))),
    );
    for (const stream of [stdout, stderr]) {
      stream.end();
      // As Node does with the output of a child process that nobody reads.
      if (stream.readableFlowing === null && stream.listenerCount('readable') === 0) stream.resume();
    }
    if (exit && 'error' in exit) return void child.emit('error', new Error(exit.error));
    if (!exit && !isKilled)
      return void child.emit('error', error ?? new Error('The process that starts git has ended.'));
    await Promise.race([read, killed.promise]);
    child.emit('close', exit?.code ?? null);
  }

  const child: GitChild = Object.assign(new EventEmitter(), {
    stdin,
    stdout,
    stderr,
    kill(signal: NodeJS.Signals) {
      isKilled = true;
      killed.resolve();
      void send(kinds.signal, signal);
      connected.then((socket) => socket.resume()).catch(() => {});
    },
  });
  child.on('error', () => {});
  connected.catch(finish);
  return child;
}

const endedError = () => Object.assign(new Error('git has ended.'), { code: 'EPIPE' });

async function removeByHelper(socketPath: string, path: string): Promise<void> {
  const socket = connect(socketPath);
  const ended = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  socket.on('error', () => {});
  socket.once('connect', () =>
    socket.write(frame(kinds.request, JSON.stringify({ remove: path } satisfies HelperRequest))),
  );
  socket.resume();
  await ended;
}

const killMsMax = 2_000;

/** Runs as the user of git, whose rights are the limit: who connects can do nothing else. */
export function serveGitHelper(socketPath: string): Promise<{ close(): void }> {
  const server = createServer((socket) => {
    let child: GitChild | null = null;
    let isEnded = false;
    socket.on('error', () => socket.destroy());
    const finish = (exit: { code: number | null } | { error: string }) => {
      isEnded = true;
      socket.write(frame(kinds.exit, JSON.stringify(exit)));
    };
    readFrames(socket, (kind, content) => {
      try {
        handle(kind, content);
      } catch (error) {
        // One bad request must not end the git of all the others.
        finish({ error: String(error) });
      }
    });
    function handle(kind: number, content: Buffer): void {
      if (kind === kinds.request && !child) {
        const request = JSON.parse(content.toString('utf8')) as HelperRequest;
        if ('remove' in request) void forceRemove(request.remove).finally(() => socket.end());
        else child = start(request.run);
      } else if (kind === kinds.input)
        child?.stdin?.write(content, () => socket.destroyed || socket.write(frame(kinds.taken)));
      else if (kind === kinds.inputEnd) child?.stdin?.end();
      else if (kind === kinds.signal) child?.kill(content.toString('latin1') as NodeJS.Signals);
    }
    socket.once('close', () => {
      if (!child || isEnded) return;
      child.kill('SIGTERM');
      const killing = setTimeout(() => child?.kill('SIGKILL'), killMsMax);
      child.once('close', () => clearTimeout(killing));
    });

    function start(command: GitCommand): GitChild {
      const started = startGit(command);
      started.once('error', (error: Error) => finish({ error: error.message }));
      started.once('close', (code: number | null) => finish({ code }));
      started.stdin?.on('error', () => {});
      for (const [kind, stream] of [
        [kinds.output, started.stdout],
        [kinds.errors, started.stderr],
      ] as const)
        stream?.on('data', (piece: Buffer) => {
          if (socket.destroyed || socket.write(frame(kind, piece))) return;
          stream.pause();
          const resume = () => {
            socket.off('drain', resume).off('close', resume);
            stream.resume();
          };
          socket.once('drain', resume).once('close', resume);
        });
      return started;
    }
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(socketPath, () => resolve({ close: () => server.close() }));
  });
}

/** git closes some of its folders while it writes them, such as those of a push. */
async function forceRemove(path: string): Promise<void> {
  for (const [program, ...args] of [
    ['chmod', '-R', 'u+rwX', '--', path],
    ['rm', '-rf', '--', path],
  ] as const)
    await runProgram(program, args, { cwd: '/' });
}
