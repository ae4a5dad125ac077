import { getDomain, verifyDomain } from '@svc/contract/domains.ts';
import { appFlag } from '../../../app-flag.ts';
import { defineCommand } from '../../../define-command.ts';
import { checkDomainId } from '../../../domains/check-domain-id.ts';

export default defineCommand({
  words: 'apps domains verify',
  summary: 'Look the DNS records of a domain up now, and explain what is not right yet',
  description:
    'Asks the name servers of the host itself. A domain that still waits is no error. With --wait it is asked again ' +
    'until the domain is active or disconnected (exit 9), for as long as --timeout allows (exit 10). Nothing is previewed.',
  kind: 'local',
  calls: `${verifyDomain.method} ${verifyDomain.path}, with --wait ${getDomain.method} ${getDomain.path}`,
  positionals: [{ name: 'domain-id', summary: 'Id of the domain, as list shows it; not its host' }],
  flags: {
    ...appFlag,
    wait: { type: 'boolean', summary: 'Wait until it is active or disconnected, at most for --timeout' },
  },
  check: ({ positionals }) => checkDomainId(positionals['domain-id']),
  run: async (ctx, { positionals, flags }) => {
    const { verifyShown } = await import('../../../domains/verify-shown.ts');
    const until = flags.wait ? 'settled' : 'answered';
    return verifyShown(ctx, { app: flags.app, domain: positionals['domain-id'], until });
  },
  output: async () => {
    const { Domain } = await import('@svc/contract/domains.shapes.ts');
    return Domain.toJSONSchema({ io: 'input', unrepresentable: 'any' });
  },
  examples: [
    {
      line: 'svc apps domains verify 01977777-7777-7777-8777-777777777777 --app pet-shop',
      does: 'What is expected, what was found, what to do',
    },
    {
      line: 'svc apps domains verify 01977777-7777-7777-8777-777777777777 --app pet-shop --wait --timeout 30m',
      does: 'Wait until it is active',
    },
  ],
});
