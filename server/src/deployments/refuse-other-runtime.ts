import type { Runtime } from '../drivers/runtime/runtime.ts';
import { fail } from '../plumbing/problem.ts';
import type { DeploymentRow } from './store.ts';

/** What apps ran on before may have been another: what that built is of no use here. Said before anything is changed. */
export function refuseOtherRuntime(
  { method, runtime, seq }: Pick<DeploymentRow, 'method' | 'runtime' | 'seq'>,
  here: Pick<Runtime, 'kind'>,
): void {
  if (method === 'static' || runtime === here.kind) return;
  throw fail('runtime_unsupported', {
    detail: `Deployment #${seq} was built for the runtime ${runtime}, and apps run on ${here.kind} now: deploy anew.`,
  });
}
