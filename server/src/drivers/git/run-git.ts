import { once } from 'node:events';
import type { Readable } from 'node:stream';
import type { Remote } from './git-client.ts';
import type { GitLauncher } from './git-launcher.ts';

export interface RunGit {
  launcher: GitLauncher;
  path: string;
  args: readonly string[];
  cwd: string;
  signal: AbortSignal;
  /** The password is passed by the environment, because every user of the machine can read arguments. */
  remote?: Remote;
  env?: Readonly<Record<string, string>>;
  bytesMax?: number;
  msMax?: number;
}

export class GitError extends Error {
  constructor(
    readonly reason: 'not_found' | 'refused' | 'unreachable' | 'too_large',
    message: string,
  ) {
    super(message);
    this.name = 'GitFailure';
  }
}

const configuration: Readonly<Record<string, string>> = {
  'protocol.allow': 'never',
  'protocol.http.allow': 'always',
  'protocol.https.allow': 'always',
  // A redirect must not receive the password.
  'http.followRedirects': 'false',
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
  // Keeps fetched objects in one pack, whose size is checked.
  'transfer.unpackLimit': '1',
  'gc.auto': '0',
  'maintenance.auto': 'false',
  'safe.directory': '*',
  'commit.gpgSign': 'false',
  'advice.detachedHead': 'false',
};

/** A repository can make git print without end: ten small trees can list a billion files. */
const outputBytesMax = 64 * 1024 * 1024;
const errorCharsMax = 64 * 1024;
const localMsMax = 5 * 60_000;
const remoteMsMax = 20 * 60_000;

export async function runGit(run: RunGit): Promise<string> {
  const chunks: Uint8Array[] = [];
  await readGit(run, (chunk) => void chunks.push(chunk));
  return Buffer.concat(chunks).toString('utf8');
}

async function readGit(run: RunGit, onChunk: (chunk: Uint8Array) => void): Promise<void> {
  const { path, args, cwd, signal, remote, env = {} } = run;
  signal.throwIfAborted();
  const ending = new AbortController();
  const timeout = new GitError('unreachable', 'git took too long.');
  const timer = setTimeout(() => ending.abort(timeout), run.msMax ?? (remote ? remoteMsMax : localMsMax));
  const ended = AbortSignal.any([signal, ending.signal]);
  const folders = [cwd, ...Object.values(env).filter((value) => value.startsWith('/'))];
  const child = run.launcher.start({
    argv: ['git', ...args],
    folders,
    cwd,
    usesNetwork: remote !== undefined,
    env: {
      PATH: path,
      HOME: '/nonexistent',
      LC_ALL: 'C',
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_TERMINAL_PROMPT: '0',
      GIT_ASKPASS: '/bin/false',
      GIT_OPTIONAL_LOCKS: '0',
      ...configEnvironment({ ...configuration, ...(remote ? authorizationConfig(remote) : {}) }),
      ...env,
    },
  });
  const exited = once(child, 'close').then(([code]) => code as number | null);
  child.stdin?.on('error', () => {});
  child.stdin?.end();
  const end = () => child.kill('SIGKILL');
  ended.addEventListener('abort', end, { once: true });
  const reading = readChunks(child.stdout, limitBytes(run.bytesMax ?? outputBytesMax, onChunk));
  reading.catch((error: unknown) => ending.abort(error));
  try {
    const [, output, code] = await Promise.all([reading, readTail(child.stderr), exited]);
    ended.throwIfAborted();
    if (code !== 0) throw toGitError(output, remote);
  } finally {
    clearTimeout(timer);
    ended.removeEventListener('abort', end);
  }
}

function limitBytes(bytesMax: number, onChunk: (chunk: Uint8Array) => void): (chunk: Uint8Array) => void {
  let bytes = 0;
  return (chunk) => {
    bytes += chunk.byteLength;
    if (bytes > bytesMax) throw new GitError('too_large', 'The output of git is too long.');
    onChunk(chunk);
  };
}

async function readChunks(stream: Readable | null, onChunk: (chunk: Uint8Array) => void): Promise<void> {
  for await (const chunk of stream ?? []) onChunk(chunk as Uint8Array);
}

async function readTail(stream: Readable | null): Promise<string> {
  const decoder = new TextDecoder();
  let output = '';
  await readChunks(stream, (chunk) => {
    output = (output + decoder.decode(chunk, { stream: true })).slice(-errorCharsMax);
  });
  return output;
}

export function configEnvironment(settings: Readonly<Record<string, string>>): Record<string, string> {
  const entries = Object.entries(settings);
  const env: Record<string, string> = { GIT_CONFIG_COUNT: String(entries.length) };
  for (const [at, [key, value]] of entries.entries()) {
    env[`GIT_CONFIG_KEY_${at}`] = key;
    env[`GIT_CONFIG_VALUE_${at}`] = value;
  }
  return env;
}

function authorizationConfig({ username, password }: Remote): Record<string, string> {
  const credential = Buffer.from(`${username}:${password}`).toString('base64');
  return { 'http.extraHeader': `Authorization: Basic ${credential}` };
}

function toGitError(output: string, remote: Remote | undefined): GitError {
  const text = removeSecrets(output, remote).trim().slice(-1_000);
  if (/not found|couldn't find remote ref|HTTP 404|error: 404|not our ref/i.test(text))
    return new GitError('not_found', text);
  if (/authentication failed|could not read username|error: 40[13]|rejected|denied/i.test(text))
    return new GitError('refused', text);
  return new GitError('unreachable', text);
}

function removeSecrets(text: string, remote: Remote | undefined): string {
  if (!remote?.password) return text;
  const encoded = Buffer.from(`${remote.username}:${remote.password}`).toString('base64');
  return text.replaceAll(remote.password, '***').replaceAll(encoded, '***');
}

const messageBytesMax = 64 * 1024;

export async function readMessage({
  sha,
  ...run
}: Pick<RunGit, 'launcher' | 'path' | 'cwd' | 'signal'> & { sha: string }): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  const enough = new GitError('too_large', 'The message is long.');
  const args = ['log', '-1', '--format=%B', sha];
  await readGit({ ...run, args }, (chunk) => {
    chunks.push(chunk);
    bytes += chunk.byteLength;
    if (bytes > messageBytesMax) throw enough;
  }).catch((error: unknown) => {
    if (error !== enough) throw error;
  });
  return Buffer.concat(chunks).subarray(0, messageBytesMax).toString('utf8');
}

const filesMax = 100_000;
const entriesMax = 2 * filesMax;

/** Checks the tree before files are written. Stops at the limits, because a small tree can expand to millions of files. */
export async function checkTreeSize({
  sha,
  bytesMax,
  ...run
}: Pick<RunGit, 'launcher' | 'path' | 'cwd' | 'signal'> & { sha: string; bytesMax: number }): Promise<void> {
  const args = ['ls-tree', '-r', '-t', '-l', '-z', sha];
  let [entries, files, bytes] = [0, 0, 0];
  const onChunk = entryReader((size) => {
    entries++;
    if (size !== null) {
      files++;
      bytes += size;
    }
    if (bytes > bytesMax || files > filesMax || entries > entriesMax)
      throw new GitError('too_large', `The source has more than ${bytesMax} bytes or ${filesMax} files.`);
  });
  await readGit({ ...run, args }, onChunk);
}

const tab = 9;

function entryReader(found: (size: number | null) => void): (chunk: Uint8Array) => void {
  let head = '';
  let isPath = false;
  return (chunk) => {
    for (let at = 0; at < chunk.length; ) {
      const end = chunk.indexOf(isPath ? 0 : tab, at);
      const upTo = end < 0 ? chunk.length : end;
      if (!isPath) head += Buffer.from(chunk.buffer, chunk.byteOffset + at, upTo - at).toString('latin1');
      at = upTo + 1;
      if (end < 0) break;
      if (isPath) head = '';
      else found(parseEntrySize(head));
      isPath = !isPath;
    }
  };
}

function parseEntrySize(head: string): number | null {
  const [, type, , size] = head.split(/ +/);
  return type === 'tree' ? null : Number(size) || 0;
}
