import type { SiteConfig } from '@svc/contract/site-config.ts';
import type { Logger } from 'pino';
import type { SourcePlan } from '../detect/plan-source.ts';
import type { DeployMethod, LogSink, Runtime } from '../drivers/runtime/runtime.ts';
import type { Db } from '../plumbing/db.ts';
import type { Outbox } from '../plumbing/outbox-rows.ts';
import type { DeploymentRow } from './store.ts';

/** What a deployment is carried out with. */
export interface DeploymentParts {
  db: Db;
  outbox: Outbox;
  log: Logger;
  runtime: Runtime;
  /** Holds a folder per deployment while it is worked on. */
  workDir: string;
  /** Builds take the machine's cores, and the rest of the queue waits; to wait for an app to be well takes nothing. */
  atOnceMax: { builds: number; all: number };
  /** Where it is another than the rules': for tests. */
  releaseMsMax?: (row: DeploymentRow) => number;
  logs: Logs;
  source: SourceOfDeployment;
  environment: EnvironmentOfApp;
  sites: SitesOfDeployments;
}

export interface Logs {
  open(of: {
    appId: string;
    deploymentId: string;
    source: 'build' | 'app';
    /** Never to be read in a log. */
    secrets: readonly string[];
  }): OpenLog;
}

export interface OpenLog {
  sink: LogSink;
  close(): Promise<void>;
}

export interface SourceOfDeployment {
  /** Into a folder that is empty. Throws `DeploymentFailure` where there is none to be had. */
  fetch(job: { row: DeploymentRow; into: string; log: LogSink; signal: AbortSignal }): Promise<Fetched>;
  plan(sourceDir: string, wish: { method: DeployMethod }): Promise<SourcePlan>;
}

export type Fetched = Partial<Pick<DeploymentRow, 'repo' | 'ref' | 'commit_sha' | 'commit_message'>>;

export interface EnvironmentOfApp {
  /** The app's variables as they are now, sealed: what the deployment runs with from now on. */
  snapshot(row: DeploymentRow): Promise<Buffer>;
  /** The app's own variables as they were kept with the deployment. */
  own(row: DeploymentRow): Promise<Record<string, string>>;
  /** What the platform gives beside them. */
  given(row: DeploymentRow, purpose: 'build' | 'run'): Promise<Record<string, string>>;
}

export interface SitesOfDeployments {
  /**
   * A folder becomes a release, and is shown where nobody has to look at it first. Done twice for one deployment, it is
   * done once.
   */
  release(row: DeploymentRow, built: BuiltSite, signal: AbortSignal): Promise<Released>;
  /** A release that was shown before. */
  showAgain(row: DeploymentRow, releaseId: string): Promise<Released>;
}

export interface BuiltSite {
  dir: string;
  config: SiteConfig | null;
}

export interface Released {
  releaseId: string;
  outcome: 'active' | 'staged' | 'finalized';
  digest: string;
}
