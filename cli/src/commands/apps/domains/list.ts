import { listDomains } from '@svc/contract/domains.ts';
import { appFlag } from '../../../app-flag.ts';
import { defineCommand } from '../../../define-command.ts';
import { pageFlags } from '../../../page-flags.ts';
import { domainView } from '../../../views/domain.ts';

export default defineCommand({
  words: 'apps domains list',
  summary: 'List the custom domains of an app, and how each stands',
  kind: 'read',
  flags: { ...appFlag, ...pageFlags },
  endpoint: listDomains,
  input: ({ tenant, flags }) => ({
    params: { tenantID: tenant, app: flags.app },
    query: { page: flags.page, per_page: flags['per-page'] },
  }),
  view: domainView,
  examples: [
    { line: 'svc apps domains list --app pet-shop', does: 'Hosts and what each waits for' },
    { line: 'svc apps domains list --app pet-shop --json', does: 'With the DNS records to publish' },
  ],
});
