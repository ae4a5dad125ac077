import { checkEngine } from '../../drivers/runtime/docker/check-runtime.ts';
import { checkProcessRuntime } from '../../drivers/runtime/process/check-runtime.ts';
import { type Check, ok, warning } from './check.ts';

/** Without starting it: the server may be at it. */
export const runtime: Check = {
  name: 'runtime',
  needs: 'config',
  run: async ({ runtime: chosen, dataDir }) => {
    const { ok: isOk, detail } =
      chosen.kind === 'docker'
        ? await checkEngine(chosen.docker)
        : await checkProcessRuntime({ ...chosen, dataDir });
    return isOk
      ? ok(detail)
      : warning(detail, 'Without it no app can be deployed; sites and rows are served.');
  },
};
