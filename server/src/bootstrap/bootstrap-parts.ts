import type { GitClient } from '../drivers/git-client/git-client.ts';
import type { GitHost } from '../drivers/git-host/git-host.ts';
import type { OperatorParts } from '../plumbing/operator.ts';

/** What runs are carried out with. */
export interface BootstrapParts extends OperatorParts {
  gitHost: GitHost;
  git: GitClient;
  now: () => Date;
  baseUrl: string;
  appsDomain: string;
  /** Below it, files of a template are put together. */
  dataDir: string;
  onCommitted?: (tag: string) => void;
}

/** Wakes the copies of the server that carry runs out. */
export const workTag = 'work:bootstraps';
