import type { SiteConfig } from '@svc/contract/site-config.ts';
import type { OperatorDeps } from '../../core/mutation.ts';
import type { Artifact, DeployMethod, LogSink, Runtime } from '../../drivers/runtime/runtime.ts';
import type { Toolchains } from '../../drivers/toolchains/toolchains.ts';
import type { SourcePlan } from '../detect/plan-source.ts';
import type { LogSinks } from '../logs/log-sink.ts';
import type { FolderRelease } from '../static-sites/deployment-releases.ts';
import type { DeploymentRow } from './store.ts';

export interface DeploymentDeps extends OperatorDeps {
  runtime: Runtime;
  /** Parent of one folder for each claimed deployment. */
  workDir: string;
  /** Builds use the CPU; waiting for a health check does not. */
  concurrencyMax: { builds: number; all: number };
  /** Replaces the limit of the rules in tests. */
  releaseMsMax?: (row: DeploymentRow) => number;
  logs: LogSinks;
  source: DeploymentSource;
  environment: DeploymentEnvironment;
  sites: DeploymentSites;
  /** Null: builds use what the machine or the image has. */
  toolchains: Toolchains | null;
  /** Null: builds stay on this machine. */
  builds: BuildStore | null;
}

/** Builds in the object store that servers of several machines share, so that each can start every app. */
export interface BuildStore {
  /** Before the deployment goes on: what is live can be started elsewhere. */
  save(appId: string, artifact: Artifact, signal: AbortSignal): Promise<void>;
  /** Does nothing if the build is on this machine. */
  fetch(row: DeploymentRow): Promise<void>;
  remove(appId: string, artifact: Artifact): Promise<void>;
  /** Deletes what no deployment uses here, and the least used beyond a limit: it can be fetched again. */
  trim(): Promise<void>;
}

export interface DeploymentSource {
  /** Writes into an empty folder. Throws `DeploymentFailure` if there is no source. */
  fetch(job: { row: DeploymentRow; into: string; log: LogSink; signal: AbortSignal }): Promise<FetchedSource>;
  plan(sourceDir: string, options: { method: DeployMethod }): Promise<SourcePlan>;
}

export type FetchedSource = Partial<Pick<DeploymentRow, 'repo' | 'ref' | 'commit_sha' | 'commit_message'>>;

export interface DeploymentEnvironment {
  /** The app's current variables, sealed for this deployment. */
  snapshot(row: DeploymentRow): Promise<Buffer>;
  /** The app's variables from the deployment's snapshot. */
  own(row: DeploymentRow): Promise<Record<string, string>>;
  platform(row: DeploymentRow, purpose: 'build' | 'run'): Promise<Record<string, string>>;
  /** With which an instance acts as the app until it ends. */
  identity(row: DeploymentRow, instanceId: string): Promise<Record<string, string>>;
  /** The same for one command. */
  commandIdentity(
    row: DeploymentRow,
    command: { commandId: string; timeoutMs: number },
  ): Promise<Record<string, string>>;
  endCommandIdentity(appId: string, commandId: string): Promise<void>;
}

export interface DeploymentSites {
  /** Makes a release of a folder and activates it unless it needs a review. Repeatable for one deployment. */
  release(row: DeploymentRow, built: BuiltSite, signal: AbortSignal): Promise<FolderRelease>;
  reactivate(row: DeploymentRow, releaseId: string): Promise<FolderRelease>;
  /** Stages the release and requests its promotion. */
  submit(row: DeploymentRow, releaseId: string): Promise<'submitted' | 'overtaken'>;
}

export interface BuiltSite {
  dir: string;
  config: SiteConfig | null;
}
