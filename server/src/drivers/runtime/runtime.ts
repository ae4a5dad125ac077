import type { deployMethods } from '@svc/contract/apps.ts';

export interface Runtime {
  readonly kind: 'process' | 'docker';
  readonly node: string;
  /** Instances end with the server process that started them. */
  readonly endsWithServer: boolean;
  refuses(requirements: RuntimeRequirements): Promise<string | null>;
  /** Why commands cannot run in such an app, or null. */
  refusesCommands?(method: DeployMethod): string | null;
  build(job: BuildJob): Promise<Built>;
  /** Does not wait until the app is healthy; `address` is where it will listen. Idempotent for an instance ID. */
  start(job: StartJob): Promise<StartedInstance>;
  /** Also ends a run with this ID, and what a lost server has left of it. */
  stop(instance: InstanceRef, options: { graceMs: number }): Promise<void>;
  /** Runs one command in a private copy of the build until it ends. Throws if it is aborted, or cannot start. */
  run(job: RunJob): Promise<RunResult>;
  getState(instance: InstanceRef): Promise<InstanceState>;
  onStateChange?(listener: (instanceId: string) => void): void;
  list(): Promise<RunningInstance[]>;
  usage(instance: InstanceRef): Promise<{ cpuMs: number; memoryBytes: number } | null>;
  resumeLog?(instance: InstanceRef, log: LogSink): Promise<void>;
  adaptVariables?(variables: Readonly<Record<string, string>>): Record<string, string>;
  discard(artifact: Artifact): Promise<void>;
  artifacts?(): Promise<StoredArtifact[]>;
  /** Only for builds that are folders of this machine, so that other machines can start them. */
  hasBuild?(artifact: Artifact): Promise<boolean>;
  /** Writes a tar archive to a file below the work folder. */
  packBuild?(artifact: Artifact, file: { path: string }): Promise<void>;
  /** Throws if the digest of the build is another one. */
  unpackBuild?(artifact: Artifact, file: UnpackedFile): Promise<void>;
  check(): Promise<{ ok: boolean; detail: string }>;
  close(): Promise<void>;
}

export type DeployMethod = (typeof deployMethods)[number];

export interface RuntimeRequirements {
  method: DeployMethod;
  plan: BuildPlan;
}

export interface BuildPlan {
  installCommand: string | null;
  buildCommand: string | null;
  dir: string;
  startCommand: string | null;
  outputDir: string | null;
  dockerfile: string | null;
  composeFile: string | null;
  language: string;
}

export interface BuildJob {
  tenantId: string;
  appId: string;
  deploymentId: string;
  /** ID of this attempt, which also names the artifact: a replica that resumes a lost attempt cannot damage another. */
  buildId: string;
  number: number;
  method: DeployMethod;
  plan: BuildPlan;
  /** Folders in the toolchain dir, in the order of `PATH`. */
  tools?: string[];
  /** URLs of the platform that the build can use. */
  services?: readonly string[];
  sourceDir: string;
  /** Somebody reviews the build by its source: of earlier builds, only those that were approved may get into it. */
  isReviewed?: boolean;
  /** A build for a review has been approved. */
  liveDeploymentId?: string | null;
  env: Readonly<Record<string, string>>;
  limits: Limits;
  log: LogSink;
  signal: AbortSignal;
}

export interface Limits {
  cpu: number;
  memoryMb: number;
  /** For the files that the app writes. */
  diskMb: number;
}

/** URLs of the platform that an app calls. Without `SVC_BASE_URL`, which is also the issuer in signed tokens. */
export const serviceVariables = [
  'DATABASE_URL',
  'SVC_API_URL',
  'SVC_APP_TOKEN_URL',
  'SVC_USER_KEYS_URL',
  'SVC_STORAGE_URL',
];

/** Of processes and threads. */
export const processLimit = ({ memoryMb }: Pick<Limits, 'memoryMb'>) => Math.max(512, memoryMb);

export interface LogSink {
  (stream: 'stdout' | 'stderr' | 'platform', line: string): void;
  /** Of a log that is stored whole: resolves when it can take more; null: now. Until then the program is not read, and waits. */
  ready?(): Promise<void> | null;
  /** While the log is full, lines are only counted (`miss`). */
  isFull?(): boolean;
  miss?(lines: number): void;
}

export interface Built {
  artifact: Artifact;
  digest: string;
  filesDir: string | null;
}

/** JSON in a format of the runtime, stored with the deployment. Empty for `static`. */
export type Artifact = Readonly<Record<string, unknown>>;

export interface StoredArtifact {
  appId: string;
  artifact: Artifact;
  /** 0 if unknown. */
  bytes?: number;
  /** ISO 8601. */
  usedAt?: string;
}

export interface UnpackedFile {
  path: string;
  number: number;
  digest: string | null;
}

export interface StartJob {
  instanceId: string;
  tenantId: string;
  appId: string;
  deploymentId: string;
  number: number;
  method: DeployMethod;
  artifact: Artifact;
  /** The command of a process beside the app, which has no port. Default: the app's own command. */
  command?: string | undefined;
  env: Readonly<Record<string, string>>;
  /** URLs of the platform that the app can use, whatever else it is kept from. */
  services?: readonly string[];
  /** Runs beside the live deployment, without access to the data that the runtime stores for the app. */
  isInReview?: boolean;
  limits: Limits;
  log: LogSink;
  signal?: AbortSignal | undefined;
}

export interface RunJob extends Omit<StartJob, 'instanceId' | 'signal'> {
  runId: string;
  /** For `/bin/sh -c`. */
  command: string;
  timeoutMs: number;
  signal: AbortSignal;
}

export interface RunResult {
  /** Null: the platform ended the command. */
  exitCode: number | null;
  /** Follows a subject: “ended with exit code 3”, “took longer than 1 minute”. */
  how: string;
}

export interface InstanceRef {
  instanceId: string;
  handle: Readonly<Record<string, unknown>>;
}

export interface StartedInstance {
  handle: Readonly<Record<string, unknown>>;
  address: string;
}

export type InstanceState =
  | {
      state: 'running';
      restarts: number;
      /** The current address, from a runtime that looks for the port of the app. */
      address?: string;
      /** Why requests to the address do not get to the app. */
      unreachable?: string | undefined;
    }
  /** `restarting`: not known to run, but it will. Also before its first start. */
  | { state: 'restarting' | 'failed'; restarts: number; detail: string }
  | { state: 'gone' };

export interface RunningInstance extends InstanceRef {
  appId: string;
  deploymentId: string;
  address: string;
}

export class BuildError extends Error {
  constructor(
    readonly step: 'detect' | 'build',
    message: string,
  ) {
    super(message);
    this.name = 'BuildFailure';
  }
}

export function isToolchainName(name: unknown): name is string {
  return typeof name === 'string' && /^(?:node|npm|pnpm|yarn|bun)-\d+\.\d+\.\d+$/.test(name);
}
