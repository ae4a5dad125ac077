import type { startBootstrap } from '@svc/contract/bootstrap.ts';
import type { Answer } from '@svc/contract/endpoint.ts';

export type StartedRun = Answer<NonNullable<typeof startBootstrap.shape>>;
/** To be approved at the git host. */
export type GitCode = NonNullable<StartedRun['approval']>;
