import { builtInCredentials } from '../../git-host/built-in-credentials.ts';
import { openGitHost } from '../../git-host-place.ts';
import { type Check, messageOf, ok, problem } from './check.ts';

/** By the question who we are there: that needs the address, the key and the number of the app. */
export const gitHost: Check = {
  name: 'git host',
  needs: 'database',
  run: async ({ config, control }) => {
    if (config.gitHost.kind === 'built-in') return ok(`The built-in one, at ${config.baseUrl}/git.`);
    const hint = 'Compare SVC_GIT_HOST_… with what the git host shows of the app.';
    try {
      const host = await openGitHost(config, { builtIn: () => builtInCredentials(control.db) });
      const { ok: isOk, detail } = await host.check();
      return isOk ? ok(detail) : problem(detail, hint);
    } catch (error) {
      return problem(messageOf(error), hint);
    }
  },
};
