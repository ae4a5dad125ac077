import { GitFailure, type Remote } from './git-client.ts';

export interface RunGit {
  /** Where git is looked for. */
  path: string;
  args: readonly string[];
  cwd: string;
  signal: AbortSignal;
  /** Whose password goes along, by the environment: arguments can be read by everybody on the machine. */
  remote?: Remote;
  env?: Readonly<Record<string, string>>;
  /** Of what it prints; more is `too_large`. */
  bytesMax?: number;
  msMax?: number;
}

/** No configuration but this: neither the machine's, nor that of the person it runs as, nor one that came with files. */
const configuration: Readonly<Record<string, string>> = {
  'protocol.allow': 'never',
  'protocol.http.allow': 'always',
  'protocol.https.allow': 'always',
  // A password is sent to whom it is for, and not to where they point.
  'http.followRedirects': 'false',
  // Silent lines end: less than a kilobyte a second for half a minute.
  'http.lowSpeedLimit': '1000',
  'http.lowSpeedTime': '30',
  'credential.helper': '',
  'core.hooksPath': '/dev/null',
  'core.fsmonitor': 'false',
  'core.autocrlf': 'false',
  'core.protectNTFS': 'true',
  'init.templateDir': '',
  'init.defaultBranch': 'main',
  'submodule.recurse': 'false',
  'fetch.recurseSubmodules': 'false',
  'transfer.fsckObjects': 'true',
  // What comes stays in one pack, where its size is looked at.
  'transfer.unpackLimit': '1',
  'gc.auto': '0',
  'maintenance.auto': 'false',
  'safe.directory': '*',
  'commit.gpgSign': 'false',
  'advice.detachedHead': 'false',
};

/** What a repository makes git print is bounded by nothing else: ten small trees can name a billion files. */
const outputBytesMax = 64 * 1024 * 1024;
const complaintCharsMax = 64 * 1024;
/** A command that asks nobody, and one that moves a repository: two of these fit into the hour that their folder has. */
const localMsMax = 5 * 60_000;
const remoteMsMax = 20 * 60_000;

/** What it printed; throws `GitFailure`. */
export async function runGit(run: RunGit): Promise<string> {
  const pieces: Uint8Array[] = [];
  await readGit(run, (piece) => {
    pieces.push(piece);
  });
  return Buffer.concat(pieces).toString('utf8');
}

/** The same, piece by piece; what `take` throws ends it. */
export async function readGit(run: RunGit, take: (piece: Uint8Array) => void): Promise<void> {
  const { path, args, cwd, signal, remote, env = {} } = run;
  signal.throwIfAborted();
  const ending = new AbortController();
  const late = new GitFailure('unreachable', 'git took too long.');
  const timer = setTimeout(() => ending.abort(late), run.msMax ?? (remote ? remoteMsMax : localMsMax));
  const ended = AbortSignal.any([signal, ending.signal]);
  const child = Bun.spawn(['git', ...args], {
    cwd,
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    // In a group of its own: it starts others, and these have to end with it.
    detached: true,
    env: {
      PATH: path,
      HOME: '/nonexistent',
      LC_ALL: 'C',
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_TERMINAL_PROMPT: '0',
      GIT_ASKPASS: '/bin/false',
      GIT_OPTIONAL_LOCKS: '0',
      ...configured({ ...configuration, ...(remote ? authorized(remote) : {}) }),
      ...env,
    },
  });
  const end = () => killGroup(child.pid);
  ended.addEventListener('abort', end, { once: true });
  const reading = readPieces(child.stdout, bounded(run.bytesMax ?? outputBytesMax, take));
  reading.catch((error: unknown) => ending.abort(error));
  try {
    const [, said, code] = await Promise.all([reading, lastWords(child.stderr), child.exited]);
    ended.throwIfAborted();
    if (code !== 0) throw failureOf(said, remote);
  } finally {
    clearTimeout(timer);
    ended.removeEventListener('abort', end);
  }
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}

function bounded(bytesMax: number, take: (piece: Uint8Array) => void): (piece: Uint8Array) => void {
  let bytes = 0;
  return (piece) => {
    bytes += piece.byteLength;
    if (bytes > bytesMax) throw new GitFailure('too_large', 'git has more to say than is read.');
    take(piece);
  };
}

async function readPieces(
  stream: ReadableStream<Uint8Array>,
  take: (piece: Uint8Array) => void,
): Promise<void> {
  for await (const piece of stream) take(piece);
}

/** What matters comes last. */
async function lastWords(stream: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let said = '';
  await readPieces(stream, (piece) => {
    said = (said + decoder.decode(piece, { stream: true })).slice(-complaintCharsMax);
  });
  return said;
}

function configured(settings: Readonly<Record<string, string>>): Record<string, string> {
  const entries = Object.entries(settings);
  return Object.fromEntries([
    ['GIT_CONFIG_COUNT', String(entries.length)],
    ...entries.flatMap(([key, value], at) => [
      [`GIT_CONFIG_KEY_${at}`, key],
      [`GIT_CONFIG_VALUE_${at}`, value],
    ]),
  ]);
}

function authorized({ username, password }: Remote): Record<string, string> {
  const credential = Buffer.from(`${username}:${password}`).toString('base64');
  return { 'http.extraHeader': `Authorization: Basic ${credential}` };
}

function failureOf(said: string, remote: Remote | undefined): GitFailure {
  const text = withoutSecrets(said, remote).trim().slice(-1_000);
  if (/not found|couldn't find remote ref|HTTP 404|error: 404|not our ref/i.test(text))
    return new GitFailure('not_found', text);
  if (/authentication failed|could not read username|error: 40[13]|rejected|denied/i.test(text))
    return new GitFailure('refused', text);
  return new GitFailure('unreachable', text);
}

function withoutSecrets(text: string, remote: Remote | undefined): string {
  if (!remote?.password) return text;
  const encoded = Buffer.from(`${remote.username}:${remote.password}`).toString('base64');
  return text.replaceAll(remote.password, '***').replaceAll(encoded, '***');
}
