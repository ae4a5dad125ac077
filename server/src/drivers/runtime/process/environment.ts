type Variables = Readonly<Record<string, string>>;

/** What of the server's own surroundings apps are given; read from the environment with the rest of the configuration. */
export interface Surroundings {
  path: string;
  /** For builds: how packages are fetched here. */
  forBuilds: Variables;
}

export interface Folders {
  home: string;
  tmp: string;
}

/** By it a process is known as one of an instance or a build, wherever it went. */
export const markName = 'SVC_RUN_ID';

/** Without `NODE_ENV`, so that what only a build needs is installed as well. */
export function environmentOfBuild(
  surroundings: Surroundings,
  given: { job: Variables; folders: Folders },
): Record<string, string> {
  return {
    LANG: 'C.UTF-8',
    npm_config_update_notifier: 'false',
    npm_config_fund: 'false',
    npm_config_audit: 'false',
    ...surroundings.forBuilds,
    ...given.job,
    ...ours(surroundings, given.folders),
  };
}

export function environmentOfRun(
  surroundings: Surroundings,
  given: { job: Variables; folders: Folders; port: number; preload: string },
): Record<string, string> {
  const { NODE_OPTIONS: theirs = '' } = given.job;
  return {
    LANG: 'C.UTF-8',
    NODE_ENV: 'production',
    npm_config_update_notifier: 'false',
    ...given.job,
    ...ours(surroundings, given.folders),
    PORT: String(given.port),
    HOST: '127.0.0.1',
    NODE_OPTIONS: `--require ${JSON.stringify(given.preload)} ${theirs}`.trim(),
  };
}

function ours({ path }: Surroundings, { home, tmp }: Folders): Record<string, string> {
  return { PATH: path, HOME: home, TMPDIR: tmp };
}
