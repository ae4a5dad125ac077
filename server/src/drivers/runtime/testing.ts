import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { patientMs } from '../../../../scripts/patience.ts';
import type { RuntimeWorld, SampleName } from './conformance.ts';
import type {
  BuildPlan,
  Built,
  DeployMethod,
  InstanceState,
  LogSink,
  RunResult,
  Runtime,
} from './runtime.ts';

export interface SampleApp {
  appId: string;
  deploymentId: string;
  number: number;
  sourceDir: string;
  sample: {
    method: DeployMethod;
    plan: BuildPlan;
    files: Record<string, string>;
    isReviewed?: boolean;
    liveDeploymentId?: string;
    isInReview?: boolean;
  };
  build(): Promise<Built>;
  abort(reason: Error): void;
  start(built: Built, instanceId?: string, command?: string): Promise<SampleInstance>;
  run(): Promise<SampleInstance>;
  command(
    built: Built,
    command: string,
    options?: { timeoutMs?: number; runId?: string },
  ): Promise<RunResult>;
  lines(stream?: 'stdout' | 'stderr' | 'platform'): string[];
  log: LogSink;
  /** URLs of the platform that the instances may use. */
  services?: readonly string[];
}

export interface SampleInstance {
  id: string;
  address: string;
  stop(graceMs?: number): Promise<void>;
  getState(): Promise<InstanceState>;
  usage: () => ReturnType<Runtime['usage']>;
}

export interface Bench {
  runtime: Runtime;
  app(name: SampleName, env?: Record<string, string>, text?: string): SampleApp;
  answer(address: string, path: string): Promise<string>;
  isSilent(address: string): Promise<boolean>;
  until(condition: () => boolean | Promise<boolean>): Promise<void>;
}

export const serverSecret = 'of-the-server-alone';

const sampleLimits = { cpu: 1, memoryMb: 128, diskMb: 64 };
let numbers = 100_000 + Math.floor(Math.random() * 800_000);

export function openBench(world: RuntimeWorld, opened: Runtime): Bench {
  process.env.SVC_TEST_SECRET = serverSecret;
  const bench: Bench = {
    runtime: opened,
    app(name, env = {}, text = '') {
      const source = world.sample(name, text);
      const sample: SampleApp['sample'] = {
        method: source.method,
        plan: { ...source.plan },
        files: { ...source.files },
      };
      const ids = {
        tenantId: crypto.randomUUID(),
        appId: crypto.randomUUID(),
        deploymentId: crypto.randomUUID(),
      };
      const number = ++numbers;
      const output: [string, string][] = [];
      const log: LogSink = (stream, line) => output.push([stream, line]);
      const stopping = new AbortController();
      const common = { ...ids, number, env, limits: sampleLimits, log };
      const app: SampleApp = {
        ...ids,
        number,
        sourceDir: join(world.workDir, ids.deploymentId),
        sample,
        log,
        build() {
          writeFiles(app.sourceDir, sample.files);
          const { plan, method, isReviewed, liveDeploymentId } = sample;
          return bench.runtime.build({
            ...common,
            deploymentId: app.deploymentId,
            buildId: crypto.randomUUID(),
            method,
            plan,
            sourceDir: app.sourceDir,
            isReviewed,
            liveDeploymentId,
            signal: stopping.signal,
          });
        },
        abort: (reason) => stopping.abort(reason),
        async start(built, instanceId = crypto.randomUUID(), command = undefined) {
          const { handle, address } = await bench.runtime.start({
            ...common,
            method: sample.method,
            isInReview: sample.isInReview,
            instanceId,
            artifact: built.artifact,
            command,
            services: app.services,
          });
          const ref = { instanceId, handle };
          return {
            id: instanceId,
            address,
            stop: (graceMs = 5_000) => bench.runtime.stop(ref, { graceMs }),
            getState: () => bench.runtime.getState(ref),
            usage: () => bench.runtime.usage(ref),
          };
        },
        async run() {
          const instance = await app.start(await app.build());
          await bench.answer(instance.address, '/env');
          return instance;
        },
        command: (built, command, { timeoutMs = 60_000, runId = crypto.randomUUID() } = {}) =>
          bench.runtime.run({
            ...common,
            runId,
            method: sample.method,
            artifact: built.artifact,
            services: app.services,
            command,
            timeoutMs,
            signal: stopping.signal,
          }),
        lines: (stream) => output.filter(([of]) => !stream || of === stream).map(([, line]) => line),
      };
      return app;
    },
    async answer(address, path) {
      let text = '';
      await bench.until(async () => {
        const response = await fetch(`http://${address}${path}`).catch(() => null);
        if (!response?.ok) return false;
        text = await response.text();
        return true;
      });
      return text;
    },
    isSilent: (address) =>
      fetch(`http://${address}/env`).then(
        () => false,
        () => true,
      ),
    async until(condition) {
      const deadline = Date.now() + patientMs(45_000);
      while (!(await condition())) {
        if (Date.now() > deadline) throw new Error('The condition was not met in time.');
        await Bun.sleep(20);
      }
    },
  };
  return bench;
}

function writeFiles(folder: string, files: Readonly<Record<string, string>>): void {
  mkdirSync(folder, { recursive: true });
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}
