import { listAppMembers } from '@svc/contract/owners.ts';
import { defineCommand } from '../../../define-command.ts';
import { pageFlags } from '../../../page-flags.ts';
import { ownerView } from '../../../views/owner.ts';

export default defineCommand({
  words: 'apps members list',
  summary: 'List everybody who belongs to an app: its owner, its co-owners and those invited',
  description:
    'svc apps members <app> is the same; an app called list, add or remove is named here or by its id.',
  kind: 'read',
  positionals: [{ name: 'app', summary: 'App id or slug' }],
  flags: pageFlags,
  endpoint: listAppMembers,
  input: ({ tenant, positionals, flags }) => ({
    params: { tenantID: tenant, app: positionals.app },
    query: { page: flags.page, per_page: flags['per-page'] },
  }),
  view: ownerView,
  examples: [
    { line: 'svc apps members list pet-shop', does: 'The first page' },
    { line: 'svc apps members list pet-shop --all', does: 'Everybody' },
  ],
});
