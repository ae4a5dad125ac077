import { type Check, messageOf, ok, problem } from './check.ts';

const answerMsMax = 5_000;

export const openidProvider: Check = {
  name: 'openid provider',
  needs: 'config',
  run: async ({ upstream }) => {
    if (!upstream) return ok('None is configured; users sign in with the passwords kept here.');
    const hint =
      'Check SVC_OIDC_ISSUER, and that this machine reaches it: nobody can sign in through it now.';
    const address = `${upstream.issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
    try {
      const answer = await fetch(address, { signal: AbortSignal.timeout(answerMsMax) });
      if (!answer.ok) return problem(`${address} answers ${answer.status}.`, hint);
      const said: unknown = await answer.json();
      const issuer = typeof said === 'object' && said !== null && 'issuer' in said ? said.issuer : undefined;
      if (issuer === upstream.issuer) return ok(`${upstream.name} answers.`);
      return problem(
        `${address} speaks for ${JSON.stringify(issuer)}.`,
        'Set SVC_OIDC_ISSUER to exactly that.',
      );
    } catch (error) {
      return problem(`${address} does not answer: ${messageOf(error)}`, hint);
    }
  },
};
