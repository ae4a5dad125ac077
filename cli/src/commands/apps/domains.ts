import { addDomain, getDomain, listDomains, removeDomain, verifyDomain } from '@svc/contract/domains.ts';
import { defineCommand } from '../../command.ts';
import { checkDomainId, domainText } from '../../domains/domain-text.ts';
import { appFlag, pageFlags } from '../../inputs/common.ts';
import { domainView } from '../../views/delivery.ts';

export const appsDomainsList = defineCommand({
  words: 'apps domains list',
  summary: 'List the custom domains of an app and their status',
  kind: 'read',
  flags: { ...appFlag, ...pageFlags },
  endpoint: listDomains,
  view: domainView,
  examples: {
    '--app pet-shop': 'List hosts and pending checks',
    '--app pet-shop --json': 'Include the DNS records to publish',
  },
});

export const appsDomainsAdd = defineCommand({
  words: 'apps domains add',
  summary: 'Add a custom domain to an app, and show the DNS records to publish',
  description:
    'The domain becomes active once its DNS records are published and verified, automatically or with svc apps ' +
    'domains verify. Several apps may wait for the same host; the one whose records are published gets it.',
  kind: 'mutate',
  positionals: [{ name: 'host', summary: 'Host name, such as www.example.com' }],
  flags: appFlag,
  endpoint: addDomain,
  input: ({ positionals }) => ({ body: { host: positionals.host } }),
  present: (ctx, answer, { flags }) => {
    ctx.note(`After publishing them: svc apps domains verify ${answer.id} --app ${flags.app} --wait`);
    return answer;
  },
  text: domainText,
  examples: {
    'www.example.com --app pet-shop': 'Preview it',
    'www.example.com --app pet-shop --execute': 'Add it, and print the records to publish',
  },
});

export const appsDomainsRemove = defineCommand({
  words: 'apps domains remove',
  summary: 'Remove a custom domain; its certificate and traffic end at once',
  description: 'A second run exits with 5, because nothing is left to remove.',
  kind: 'mutate',
  positionals: [{ name: 'domain-id', summary: 'Id of the domain, from list; not its host' }],
  flags: appFlag,
  check: ({ positionals }) => checkDomainId(positionals['domain-id']),
  endpoint: removeDomain,
  examples: { '01977777-7777-7777-8777-777777777777 --app pet-shop --execute': 'Remove it' },
});

export const appsDomainsVerify = defineCommand({
  words: 'apps domains verify',
  summary: 'Verify the DNS records of a domain now, and explain what is missing',
  description:
    'Queries the name servers of the host. A pending domain is not an error. With --wait the check repeats until the ' +
    'domain is active or disconnected (exit 9), for as long as --timeout allows (exit 10). There is no preview.',
  kind: 'act',
  calls: `${verifyDomain.method} ${verifyDomain.path}, with --wait ${getDomain.method} ${getDomain.path}`,
  positionals: [{ name: 'domain-id', summary: 'Id of the domain, from list; not its host' }],
  flags: {
    ...appFlag,
    wait: {
      type: 'boolean',
      summary: 'Wait until the domain is active or disconnected, at most for --timeout',
    },
  },
  check: ({ positionals }) => checkDomainId(positionals['domain-id']),
  run: async (ctx, { positionals, flags }) => {
    const { checkDomain } = await import('../../domains/verify-domain.ts');
    const until = flags.wait ? 'decided' : 'checked-once';
    return checkDomain(ctx, { app: flags.app, domain: positionals['domain-id'], until });
  },
  output: async () => (await import('@svc/contract/domains.shapes.ts')).Domain,
  examples: {
    '01977777-7777-7777-8777-777777777777 --app pet-shop': 'Show expected and found records and what to do',
    '01977777-7777-7777-8777-777777777777 --app pet-shop --wait --timeout 30m': 'Wait until it is active',
  },
});
