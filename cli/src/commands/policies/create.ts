import { createPolicy } from '@svc/contract/access-policies.ts';
import { defineCommand } from '../../define-command.ts';
import { readDocument } from '../../inputs/document.ts';
import { checkMasks, policyBody, policyFlags } from '../../inputs/policy.ts';

export default defineCommand({
  words: 'policies create',
  summary: 'Define an access policy',
  kind: 'mutate',
  flags: policyFlags,
  oneRequired: [['name', 'from-file']],
  check: ({ flags }) => checkMasks(flags),
  endpoint: createPolicy,
  input: async ({ tenant, flags, ctx }) => {
    const body = policyBody(flags, await readDocument(ctx, flags['from-file']));
    return { params: { tenantID: tenant }, body: { ...body, name: body.name ?? '' } };
  },
  examples: [
    {
      line: "svc policies create --name 'own region' --connector warehouse --row-filter region=eq.eu --execute",
      does: 'Some rows only',
    },
    {
      line: 'svc policies create --name masked --columns-mode deny --columns salary --mask \'email:partial:{"keep":2}\'',
      does: 'Hide one column, mask another',
    },
    { line: 'svc policies create --from-file policy.yaml --execute', does: 'From a file' },
  ],
});
