import type { InstanceState } from '../drivers/runtime/runtime.ts';
import { DeploymentFailure } from './deployment-failure.ts';

export interface HealthCheck {
  address: string;
  /** Null: any answer will do, unless it says that the server failed. */
  path: string | null;
  timeoutMs: number;
  /** How the instance is, so that one that does not run is not waited for. */
  look: () => Promise<InstanceState>;
  signal: AbortSignal;
}

const askEveryMs = 150;
const answerMsMax = 5_000;
/** Ended by itself so often, it will not come up by waiting. */
const restartsMax = 3;

/** Waits until the app answers as it should. */
export async function checkHealth(check: HealthCheck): Promise<void> {
  const until = performance.now() + check.timeoutMs;
  let last = 'It does not listen on PORT.';
  for (;;) {
    check.signal.throwIfAborted();
    const said = await ask(check);
    const now = await check.look();
    // Asked after the answer: another program could have given it while the app did not run.
    if (said === 'healthy' && now.state === 'running') return;
    if (said !== null && said !== 'healthy') last = said;
    if (now.state === 'gone') throw unhealthy('It has ended.');
    if (now.state === 'failed' || (now.state === 'restarting' && now.restarts >= restartsMax))
      throw unhealthy(`It ends by itself: ${now.detail}`);
    if (performance.now() > until)
      throw unhealthy(`It was not healthy within ${Math.round(check.timeoutMs / 1_000)} s. ${last}`);
    await new Promise((resolve) => setTimeout(resolve, askEveryMs));
  }
}

/** Null: nobody answers. */
async function ask({ address, path, signal }: HealthCheck): Promise<'healthy' | string | null> {
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
    return `${path ?? '/'} answers with ${response.status}.`;
  } catch (error) {
    return error instanceof Error && error.name === 'TimeoutError'
      ? 'It listens, and does not answer.'
      : null;
  }
}

export function isHealthy(status: number, path: string | null): boolean {
  return path === null ? status < 500 : status >= 200 && status < 400;
}

function unhealthy(detail: string): DeploymentFailure {
  return new DeploymentFailure('health_check_failed', 'health', detail);
}
