import type { InstanceState } from '../../drivers/runtime/runtime.ts';
import { DeploymentFailure } from './claimed-work.ts';
import { type InstanceRow, saveAddress } from './instances-store.ts';
import { type DeploymentDeps, drainMsMax, drainMsMin, healthSettings } from './rules.ts';
import { findDeploymentRow } from './store.ts';

interface HealthCheck {
  address: string;
  path: string | null;
  timeoutMs: number;
  getState: () => Promise<InstanceState>;
  signal: AbortSignal;
}

export const probeEveryMs = 150;

export const answerMsMax = 5_000;

export const restartsMax = 3;

export async function checkHealth(check: HealthCheck): Promise<string> {
  const until = performance.now() + check.timeoutMs;
  let { address } = check;
  let last = `The app does not listen on PORT (${new URL(`http://${address}`).port}).`;
  for (;;) {
    check.signal.throwIfAborted();
    const result = await probe({ ...check, address });
    const now = await check.getState();
    // Read after the response, which another program could have sent while the app did not run.
    if (result === 'healthy' && now.state === 'running' && (now.address ?? address) === address)
      return address;
    if (result !== null && result !== 'healthy') last = result;
    if (now.state === 'running' && now.address !== undefined) {
      address = now.address;
      if (result === null) last = now.unreachable ?? 'The app listens, but does not answer HTTP requests.';
    }
    if (now.state === 'gone') throw unhealthyError('The app has exited.');
    if (now.state === 'failed' || (now.state === 'restarting' && now.restarts >= restartsMax))
      throw unhealthyError(endedNormally.test(now.detail) ? startEndedText : now.detail);
    if (performance.now() > until)
      throw unhealthyError(
        `The app was not healthy within ${Math.round(check.timeoutMs / 1_000)} s. ${last}`,
      );
    await new Promise((resolve) => setTimeout(resolve, probeEveryMs));
  }
}

/** In the state of an instance, whatever runs it. */
const endedNormally = /\bended with exit code 0\b/;
const startEndedText =
  'The start command ended with code 0: a web process must keep running and listen on PORT. Set start in svc.yaml to the command that runs the server in the foreground, such as “start: node server.js”.';

/** A process without a port counts as started once it has run this long. */
const steadyMs = 2_000;

export async function waitUntilSteady({
  process,
  getState,
  signal,
}: Pick<HealthCheck, 'getState' | 'signal'> & { process: string }): Promise<void> {
  let since = performance.now();
  let restarts = 0;
  let detail = '';
  for (;;) {
    signal.throwIfAborted();
    const now = await getState();
    if (now.state === 'gone') throw unhealthyError(`The process ${process} has exited.`);
    if (now.state !== 'running') detail = now.detail;
    if (now.state === 'failed' || now.restarts >= restartsMax)
      throw unhealthyError(
        endedNormally.test(detail)
          ? `The command of the process ${process} ended with code 0: a process must keep running. What runs once belongs in release or schedules of svc.yaml.`
          : `The process ${process} exits${detail === '' ? ' again and again.' : `: ${detail}`}`,
      );
    if (now.state !== 'running' || now.restarts !== restarts) since = performance.now();
    restarts = now.restarts;
    if (performance.now() - since >= steadyMs) return;
    await new Promise((resolve) => setTimeout(resolve, probeEveryMs));
  }
}

export async function probe({ address, path, signal }: HealthCheck): Promise<'healthy' | string | null> {
  try {
    const response = await fetch(`http://${address}${path ?? '/'}`, {
      redirect: 'manual',
      headers: { 'user-agent': 'svc-health', connection: 'close' },
      signal: AbortSignal.any([signal, AbortSignal.timeout(answerMsMax)]),
      // See `edge/proxy/pass-request.ts`.
      proxy: false,
    } as RequestInit);
    await response.body?.cancel();
    if (isHealthy(response.status, path)) return 'healthy';
    return `${path ?? '/'} responds with ${response.status}.`;
  } catch (error) {
    return error instanceof Error && error.name === 'TimeoutError'
      ? 'The app listens but does not respond.'
      : null;
  }
}

export function isHealthy(status: number, path: string | null): boolean {
  return path === null ? status < 500 : status >= 200 && status < 400;
}

function unhealthyError(detail: string): DeploymentFailure {
  return new DeploymentFailure('health_check_failed', 'health', detail);
}

/** Routes requests to an instance again once it is healthy, after a restart or at another address. */
export async function restoreAddress(
  { db, log, runtime }: Pick<DeploymentDeps, 'db' | 'log' | 'runtime'>,
  { id, handle, tenant_id: tenantId, app_id: appId, deployment_id }: InstanceRow,
  signal: AbortSignal,
): Promise<boolean> {
  const row = await findDeploymentRow(db, { tenantId, appId }, deployment_id);
  let address = (await runtime.list()).find(({ instanceId }) => instanceId === id)?.address;
  if (!row || !address) return false;
  const getState = () => runtime.getState({ instanceId: id, handle: handle ?? {} });
  try {
    address = await checkHealth({ address, ...healthSettings(row), getState, signal });
  } catch (error) {
    log.info({ err: error, app: appId, instance: id }, 'instance is not healthy');
    return false;
  }
  return saveAddress(db, { id, address });
}

export interface Draining {
  now: Date;
  inFlight: number;
  processes: 'one' | 'many';
}

export function isDrained(
  { draining_at, address }: Pick<InstanceRow, 'draining_at' | 'address'>,
  { now, inFlight, processes }: Draining,
): boolean {
  if (address === null || draining_at === null) return true;
  const elapsed = now.getTime() - draining_at.getTime();
  if (elapsed >= drainMsMax) return true;
  return processes === 'one' && elapsed >= drainMsMin && inFlight === 0;
}
