import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { patientMs } from '../../../../scripts/patience.ts';
import type { RuntimeWorld, SampleName } from './conformance-testing.ts';
import type { BuildPlan, Built, DeployMethod, LogSink, Runtime } from './runtime.ts';

export type Bench = ReturnType<typeof openBench>;
export type SampleApp = ReturnType<Bench['app']>;
export type SampleInstance = Awaited<ReturnType<SampleApp['start']>>;

interface SampleSource {
  method: DeployMethod;
  plan: BuildPlan;
  files: Record<string, string>;
  isReviewed?: boolean;
  liveDeploymentId?: string;
  isInReview?: boolean;
}

export const serverSecret = 'of-the-server-alone';

const sampleLimits = { cpu: 1, memoryMb: 128, diskMb: 64 };
let numbers = 100_000 + Math.floor(Math.random() * 800_000);

export function openBench(world: RuntimeWorld, opened: Runtime) {
  process.env.SVC_TEST_SECRET = serverSecret;
  const until = async (condition: () => boolean | Promise<boolean>): Promise<void> => {
    const deadline = Date.now() + patientMs(20_000);
    while (!(await condition())) {
      if (Date.now() > deadline) throw new Error('The condition was not met in time.');
      await Bun.sleep(20);
    }
  };
  const answer = async (address: string, path: string): Promise<string> => {
    const deadline = Date.now() + patientMs(20_000);
    for (;;) {
      const signal = AbortSignal.timeout(patientMs(5_000));
      try {
        const response = await fetch(`http://${address}${path}`, { signal, keepalive: false });
        if (response.ok) return await response.text();
        throw new Error(`${address} answers ${response.status}.`);
      } catch (error) {
        if (Date.now() > deadline) throw error;
      }
      await Bun.sleep(20);
    }
  };
  const bench = {
    runtime: opened,
    until,
    answer,
    app(name: SampleName, env: Record<string, string> = {}, text = '') {
      const source = world.sample(name, text);
      const sample: SampleSource = { ...source, plan: { ...source.plan }, files: { ...source.files } };
      const newId = (): string => crypto.randomUUID();
      const ids = { tenantId: newId(), appId: newId(), deploymentId: newId() };
      const number = ++numbers;
      const output: [string, string][] = [];
      const log: LogSink = (stream, line) => output.push([stream, line]);
      const stopping = new AbortController();
      const common = { ...ids, number, env, limits: sampleLimits, log };
      const app = {
        ...ids,
        number,
        sourceDir: join(world.workDir, ids.deploymentId),
        sample,
        log,
        limits: { ...sampleLimits },
        /** URLs of the platform that the instances may use. */
        services: undefined as readonly string[] | undefined,
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
        abort: (reason: Error) => stopping.abort(reason),
        async start(built: Built, instanceId: string = crypto.randomUUID(), command?: string) {
          const { handle, address } = await bench.runtime.start({
            ...common,
            limits: app.limits,
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
          await answer(instance.address, '/env');
          return instance;
        },
        command: (
          built: Built,
          command: string,
          { timeoutMs = 60_000, runId = crypto.randomUUID() as string } = {},
        ) =>
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
        lines: (stream?: 'stdout' | 'stderr' | 'platform') =>
          output.filter(([of]) => !stream || of === stream).map(([, line]) => line),
      };
      return app;
    },
    isSilent: (address: string) =>
      fetch(`http://${address}/env`).then(
        () => false,
        () => true,
      ),
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
