import type { GitHost } from '../drivers/git-host/git-host.ts';
import type { Db } from '../plumbing/db.ts';

/** Whom to ask about repositories, and where we are asked ourselves. */
export interface GitParts {
  db: Db;
  gitHost: GitHost;
  baseUrl: string;
  now: () => Date;
}

/** Of whom: accounts at the git host are linked by tenant. */
export interface LinkedPerson {
  tenantId: string;
  userId: string;
}
