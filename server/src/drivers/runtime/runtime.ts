import type { deployMethods } from '@svc/contract/apps.ts';

/** What apps are built and run by. One conformance suite holds for every implementation. */
export interface Runtime {
  readonly kind: 'process' | 'docker';
  /**
   * Whose instances are whose: those of processes belong to the copy of the server that started them, those of an
   * engine to the engine, whichever copy asks.
   */
  readonly node: string;
  /** Why it can not be done here, said before anything is changed; null: it can. */
  refuses(wish: RuntimeWish): Promise<string | null>;
  /** From source to something that can be started again at any time. Throws `BuildFailure` for what is the app's own fault. */
  build(job: BuildJob): Promise<Built>;
  /** Starts, without waiting until it is healthy; `address` is where it will listen. Started twice with one id, it is there once. */
  start(job: StartJob): Promise<Started>;
  /** Asks it to end, and ends it after the grace. One that is not there is no error. */
  stop(instance: InstanceRef, options: { graceMs: number }): Promise<void>;
  /** How it is now; `gone` for one that is not known. Restarts with back-off are the runtime's own. */
  look(instance: InstanceRef): Promise<InstanceState>;
  /** Tells at once of an instance that is not `running` any more, or is again. Of a runtime that knows before it is asked. */
  onTurn?(listener: (instanceId: string) => void): void;
  /** Everything of this installation that is there, for a copy of the server that has just begun. */
  list(): Promise<Running[]>;
  /** What an app uses now; null where that can not be told. `cpuMs` grows from the start of the instance on. */
  usage(instance: InstanceRef): Promise<{ cpuMs: number; memoryBytes: number } | null>;
  /**
   * Takes up what an instance says where the server of this data dir that started it has ended. Of a runtime whose
   * instances outlive the server; done again and again, it is done once.
   */
  hear?(instance: InstanceRef, log: LogSink): Promise<void>;
  /** What the platform gives apps, as they have to be told it where the machine has another address inside. */
  seenFromInside?(given: Readonly<Record<string, string>>): Record<string, string>;
  /** Removes what was built. One that is not there is no error. */
  discard(artifact: Artifact): Promise<void>;
  /** What was built and is whole, so that what no deployment has any more can be removed. */
  artifacts?(): Promise<{ appId: string; artifact: Artifact }[]>;
  /** Whether it is there and works, for the operator. */
  check(): Promise<{ ok: boolean; detail: string }>;
  /** Processes end with the server that started them; what an engine runs goes on. */
  close(): Promise<void>;
}

export type DeployMethod = (typeof deployMethods)[number];

export interface RuntimeWish {
  method: DeployMethod;
  plan: BuildPlan;
}

/** How source becomes an app: from `svc.yaml`, and where that is silent from detection. Commands are the app's own text. */
export interface BuildPlan {
  installCommand: string | null;
  buildCommand: string | null;
  /** Below the source: where the commands are run. `.` for the source itself. */
  dir: string;
  startCommand: string | null;
  /** Of `static`: what is served, below `dir`. */
  outputDir: string | null;
  /** Below the source. */
  dockerfile: string | null;
  composeFile: string | null;
  /** `node`, `python`, …: which tools it takes. */
  language: string;
}

export interface BuildJob {
  tenantId: string;
  appId: string;
  deploymentId: string;
  /**
   * Of this one attempt. What is built is kept by it: a copy of the server that was silent and goes on with an attempt
   * that others have taken over touches nothing of theirs.
   */
  buildId: string;
  /** The app's number in this installation: for what the machine needs numbers for. */
  number: number;
  method: DeployMethod;
  plan: BuildPlan;
  /** Holds the source, and nothing of anybody else. The runtime may change it; the caller removes it. */
  sourceDir: string;
  env: Readonly<Record<string, string>>;
  limits: Limits;
  /** Receives whole lines. */
  log: LogSink;
  /** Aborted: the build is stopped, with everything that it started. */
  signal: AbortSignal;
}

export interface Limits {
  cpu: number;
  memoryMb: number;
}

export interface LogSink {
  (stream: 'stdout' | 'stderr' | 'platform', line: string): void;
  /** It keeps no more for now: whoever has lines counts them (`miss`) rather than making text of them. */
  isFull?(): boolean;
  miss?(lines: number): void;
}

export interface Built {
  artifact: Artifact;
  /** Of what was built: the same for the same bytes. */
  digest: string;
  /** Of `static`: the folder with the files, there until the caller removes `sourceDir`; otherwise null. */
  filesDir: string | null;
}

/** As the runtime that made it names it; plain JSON, kept with the deployment. Empty for `static`. */
export type Artifact = Readonly<Record<string, unknown>>;

export interface StartJob {
  instanceId: string;
  tenantId: string;
  appId: string;
  deploymentId: string;
  number: number;
  method: DeployMethod;
  artifact: Artifact;
  /** `PORT` is given by the runtime. */
  env: Readonly<Record<string, string>>;
  limits: Limits;
  log: LogSink;
  /** Aborted: it is not waited for any longer; what was begun of it is stopped by its id. */
  signal?: AbortSignal | undefined;
}

export interface InstanceRef {
  instanceId: string;
  /** As `start` answered. */
  handle: Readonly<Record<string, unknown>>;
}

export interface Started {
  handle: Readonly<Record<string, unknown>>;
  /** `host:port`, reachable from where the server runs. */
  address: string;
}

export type InstanceState =
  | { state: 'running'; restarts: number }
  /** Ended by itself and is about to be started again, or was given up. */
  | { state: 'restarting' | 'failed'; restarts: number; detail: string }
  | { state: 'gone' };

export interface Running extends InstanceRef {
  appId: string;
  deploymentId: string;
  address: string;
}

/** What the app's owners have to mend: told to them as it is. */
export class BuildFailure extends Error {
  constructor(
    readonly step: 'detect' | 'build',
    message: string,
  ) {
    super(message);
    this.name = 'BuildFailure';
  }
}
