import type { createDeployment as shape } from '@svc/contract/deployments.shapes.ts';
import type { z } from 'zod';
import { validationError } from '../../core/problem.ts';
import { type InstanceRef, type StartJob, serviceVariables } from '../../drivers/runtime/runtime.ts';
import type { RunMode } from '../../http/router.ts';
import { frameworkEnv } from '../env/platform-env.ts';
import type { OpenLog } from '../logs/log-sink.ts';
import { secretValues } from './build-deployment.ts';
import { checkHealth, waitUntilSteady } from './check-health.ts';
import { DeploymentFailure, rejectOnAbort } from './claimed-work.ts';
import { loadDeployedApp } from './deployment-record.ts';
import { deleteInstanceRow, type InstanceRow, saveStarted } from './instances-store.ts';
import { type DeploymentDeps, healthSettings, type InstanceSlot, isInReview } from './rules.ts';
import { type DeploymentRow, findDeploymentRow, type TableChanges } from './store.ts';

export interface Instances {
  isStarting(id: string): boolean;
  start(planned: readonly PlannedInstance[], row: DeploymentRow, signal: AbortSignal): Promise<void>;
  resumeLog(instance: InstanceRow): Promise<void>;
  closeLogsExcept(instances: readonly Pick<InstanceRow, 'id'>[]): Promise<void>;
  stop(instance: Pick<InstanceRow, 'id' | 'handle'>): Promise<void>;
  stopOrphan(instance: InstanceRef): Promise<void>;
  close(): Promise<void>;
}

interface PlannedInstance extends InstanceSlot {
  id: string;
}

const graceMs = 10_000;
const concurrentStartsMax = 4;

export function createInstances(deps: RunSettingsDeps & Pick<DeploymentDeps, 'log' | 'logs'>): Instances {
  const { db, runtime } = deps;
  const starting = new Set<string>();
  const stopping = new Map<string, Promise<void>>();
  const logs = new Map<string, OpenLog>();
  let missingLogs = new Set<string>();

  async function startInRuntime(
    { id, process, index }: PlannedInstance,
    row: DeploymentRow,
    signal: AbortSignal,
  ) {
    const identity = await deps.environment.identity(row, id);
    const { secrets, env, ...settings } = await loadRunSettings(deps, row, identity);
    await logs.get(id)?.close();
    const { appId, deploymentId } = settings;
    const log = deps.logs.open({ appId, deploymentId, source: 'app', process, secrets });
    logs.set(id, log);
    return runtime.start({
      ...settings,
      instanceId: id,
      isInReview: isInReview(row),
      command: row.start_with?.processes?.[process]?.command ?? undefined,
      log: log.sink,
      signal,
      env: { ...env, SVC_PROCESS: process, SVC_INSTANCE: String(index) },
    });
  }

  async function closeLog(id: string): Promise<void> {
    const log = logs.get(id);
    logs.delete(id);
    await log?.close();
  }

  async function stopInRuntime(instance: InstanceRef): Promise<void> {
    await runtime.stop(instance, { graceMs });
    await closeLog(instance.instanceId);
  }

  function once(id: string, act: () => Promise<void>): Promise<void> {
    const stop = stopping.get(id) ?? act().finally(() => stopping.delete(id));
    stopping.set(id, stop);
    return stop;
  }

  const stop: Instances['stop'] = ({ id, handle }) =>
    once(id, async () => {
      await stopInRuntime({ instanceId: id, handle: handle ?? {} });
      await deleteInstanceRow(db, id);
    });

  async function resumeLog(instance: InstanceRow) {
    const { id, handle, tenant_id: tenantId, app_id: appId, deployment_id, process } = instance;
    if (!runtime.resumeLog || logs.has(id) || starting.has(id) || stopping.has(id)) return;
    const row = await findDeploymentRow(db, { tenantId, appId }, deployment_id);
    if (!row) return;
    const own = await deps.environment.own(row);
    const secrets = secretValues({ ...own, ...(await deps.environment.platform(row, 'run')) });
    if (logs.has(id)) return;
    const log = deps.logs.open({ appId, deploymentId: deployment_id, source: 'app', process, secrets });
    logs.set(id, log);
    await runtime.resumeLog({ instanceId: id, handle: handle ?? {} }, log.sink);
  }

  async function startOne(instance: PlannedInstance, row: DeploymentRow, signal: AbortSignal) {
    const { id, process } = instance;
    let handle: InstanceRef['handle'] = {};
    try {
      const started = await rejectOnAbort(startInRuntime(instance, row, signal), signal);
      handle = started.handle;
      const hasPort = process === 'web';
      if (!(await saveStarted(db, { id, handle, address: hasPort ? started.address : null })))
        throw new DeploymentFailure('internal', 'start', 'The instance was stopped during its start.');
      const getState = () => runtime.getState({ instanceId: id, handle });
      if (!hasPort) return await waitUntilSteady({ process, getState, signal });
      const address = await checkHealth({
        address: started.address,
        ...healthSettings(row),
        getState,
        signal,
      });
      if (address !== started.address) await saveStarted(db, { id, handle, address });
    } catch (error) {
      if (error instanceof DeploymentFailure) error.lines = logs.get(id)?.last() ?? [];
      await stop({ id, handle }).catch((cause: unknown) =>
        deps.log.warn({ err: cause, instance: id }, 'stop of an instance failed'),
      );
      throw error;
    }
  }

  return {
    isStarting: (id) => starting.has(id),
    resumeLog,
    async closeLogsExcept(known) {
      const ids = new Set(known.map(({ id }) => id));
      const missing = [...logs.keys()].filter((id) => !ids.has(id) && !starting.has(id) && !stopping.has(id));
      // Twice in a row: one may have been started after they were listed.
      await Promise.all(missing.filter((id) => missingLogs.has(id)).map(closeLog));
      missingLogs = new Set(missing);
    },
    stop,
    stopOrphan: (instance) => once(instance.instanceId, () => stopInRuntime(instance)),
    async start(planned, row, signal) {
      const others = new AbortController();
      const whole = AbortSignal.any([signal, others.signal]);
      const errors: unknown[] = [];
      const queue = planned.values();
      const startNext = async () => {
        for (const instance of queue) {
          if (errors.length > 0) return;
          await startOne(instance, row, whole).catch((error: unknown) => {
            errors.push(error);
            others.abort(new Error('Another instance did not start.'));
          });
        }
      };
      // Until all have started, the reconciler confirms those that wait for others, too.
      for (const { id } of planned) starting.add(id);
      await Promise.all(Array.from({ length: concurrentStartsMax }, startNext));
      for (const { id } of planned) starting.delete(id);
      if (errors.length > 0) throw errors[0];
    },
    async close() {
      await Promise.allSettled([...stopping.values()]);
      await Promise.allSettled([...logs.keys()].map(closeLog));
    },
  };
}

export interface DeploymentRequest {
  ref?: string | undefined;
  uploadId?: string | 'pending' | undefined;
  tableChanges?: TableChanges | null;
}

export function deploymentRequest(
  body: z.output<typeof shape.body>,
  { mode }: { mode: RunMode },
): DeploymentRequest {
  const { ref, upload_id: uploadId, upload_pending: isPending, prune, allow_destructive } = body;
  const tableChanges: TableChanges | null =
    prune || allow_destructive
      ? { prune: prune === true, ...(allow_destructive && { allowed: 'all' }) }
      : null;
  if (isPending === undefined) return { ref, uploadId, tableChanges };
  if (mode === 'execute')
    throw validationError('upload_pending', 'is only for a dry run: upload the source first');
  if (uploadId !== undefined)
    throw validationError('upload_pending', 'is only for source that is not uploaded yet');
  return { ref, uploadId: 'pending', tableChanges };
}

export type RunSettingsDeps = Pick<
  DeploymentDeps,
  'db' | 'runtime' | 'environment' | 'builds' | 'toolchains'
>;
const toolsMsMax = 15 * 60_000;

export async function loadRunSettings(
  { db, runtime, environment, builds, toolchains }: RunSettingsDeps,
  row: DeploymentRow,
  identity: Readonly<Record<string, string>>,
): Promise<Omit<StartJob, 'instanceId' | 'log' | 'signal'> & { secrets: string[] }> {
  const { tenant_id: tenantId, app_id: appId, id: deploymentId, artifact, start_with } = row;
  if (!artifact) throw new DeploymentFailure('internal', 'start', 'The artifact does not exist.');
  if (row.runtime !== runtime.kind)
    throw new DeploymentFailure(
      'runtime_unsupported',
      'start',
      'It was built for another runtime: deploy again.',
    );
  await builds?.fetch(row);
  // A machine onto which a back-up was restored has no tools yet.
  if (Array.isArray(artifact.tools))
    await toolchains?.restore(artifact.tools, { signal: AbortSignal.timeout(toolsMsMax) });
  const app = await loadDeployedApp(db, { tenantId, appId });
  const own = await environment.own(row);
  const variables = { ...(await environment.platform(row, 'run')), ...identity };
  const platform = runtime.adaptVariables?.(variables) ?? variables;
  return {
    tenantId,
    appId,
    deploymentId,
    number: app.number,
    limits: app.limits,
    method: row.method,
    artifact,
    env: { ...frameworkEnv(start_with?.framework, variables).run, ...start_with?.env, ...platform, ...own },
    services: serviceVariables.flatMap((name) => platform[name] ?? []),
    secrets: secretValues({ ...own, ...platform }),
  };
}
