import { type Check, messageOf, ok, warning } from './check.ts';

const answerMsMax = 3_000;

/** A warning only: it may be stopped on purpose. */
export const server: Check = {
  name: 'server',
  needs: 'config',
  run: async ({ baseUrl }) => {
    try {
      const answer = await fetch(`${baseUrl}/readyz`, { signal: AbortSignal.timeout(answerMsMax) });
      await answer.body?.cancel();
      if (answer.ok) return ok(`A server is ready on ${baseUrl}.`);
      return warning(`${baseUrl}/readyz answers ${answer.status}.`, "See the server's log.");
    } catch (error) {
      return warning(`No server answers on ${baseUrl}: ${messageOf(error)}`, 'Start it with npm start.');
    }
  },
};
