import { checkProcessRuntime } from '../../drivers/runtime/process/check-runtime.ts';
import { type Check, ok, problem, warning } from './check.ts';

/** Without starting it: the server may be at it. */
export const runtime: Check = {
  name: 'runtime',
  needs: 'config',
  run: async ({ runtime: chosen, dataDir }) => {
    if (chosen.kind === 'docker') return problem('SVC_RUNTIME=docker is not there yet.', 'Use process.');
    const { ok: isOk, detail } = await checkProcessRuntime({ ...chosen, dataDir });
    return isOk
      ? ok(detail)
      : warning(detail, 'Without it no app can be deployed; sites and rows are served.');
  },
};
