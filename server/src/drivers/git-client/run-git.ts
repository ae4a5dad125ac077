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
  'gc.auto': '0',
  'maintenance.auto': 'false',
  'safe.directory': '*',
  'commit.gpgSign': 'false',
  'advice.detachedHead': 'false',
};

/** What it printed; throws `GitFailure`. */
export async function runGit({ path, args, cwd, signal, remote, env = {} }: RunGit): Promise<string> {
  signal.throwIfAborted();
  const child = Bun.spawn(['git', ...args], {
    cwd,
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    signal,
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
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  signal.throwIfAborted();
  if (code !== 0) throw failureOf(err, remote);
  return out;
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
