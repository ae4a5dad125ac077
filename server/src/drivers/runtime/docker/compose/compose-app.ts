/** What is taken from a compose file: nothing that is not listed here reaches the engine. Plain JSON. */
export interface ComposeApp {
  services: Readonly<Record<string, ComposeService>>;
  /** Names of volumes, which stay with the app from deployment to deployment. */
  volumes: readonly string[];
  /** Which service answers, and at which of its ports. */
  main: { service: string; port: number };
}

export interface ComposeService {
  image: string | null;
  build: ComposeBuild | null;
  /** These are read with the variables of the app when it is started, and until then stand as they were written. */
  command: string | readonly string[] | null;
  entrypoint: string | readonly string[] | null;
  environment: Readonly<Record<string, string>>;
  healthcheck: Readonly<Record<string, unknown>> | null;
  workingDir: string | null;
  user: string | null;
  expose: readonly number[];
  volumes: readonly ComposeMount[];
  dependsOn: Readonly<Record<string, string>>;
}

export interface ComposeBuild {
  /** Below the source. */
  context: string;
  dockerfile: string;
  target: string | null;
  args: Readonly<Record<string, string>>;
}

export interface ComposeMount {
  volume: string;
  target: string;
  mode: 'rw' | 'ro';
}
