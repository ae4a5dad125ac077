import { removeDomain } from '@svc/contract/domains.ts';
import { appFlag } from '../../../app-flag.ts';
import { defineCommand } from '../../../define-command.ts';
import { checkDomainId } from '../../../domains/check-domain-id.ts';

export default defineCommand({
  words: 'apps domains remove',
  summary: 'Detach a host: its certificate is deleted and its traffic cut at once',
  description: 'A second run exits with 5: there is nothing left to remove.',
  kind: 'mutate',
  positionals: [{ name: 'domain-id', summary: 'Id of the domain, as list shows it; not its host' }],
  flags: appFlag,
  check: ({ positionals }) => checkDomainId(positionals['domain-id']),
  endpoint: removeDomain,
  input: ({ tenant, positionals, flags }) => ({
    params: { tenantID: tenant, app: flags.app, domain: positionals['domain-id'] },
  }),
  examples: [
    {
      line: 'svc apps domains remove 01977777-7777-7777-8777-777777777777 --app pet-shop --execute',
      does: 'Detach it',
    },
  ],
});
