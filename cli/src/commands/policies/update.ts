import { updatePolicy } from '@svc/contract/access-policies.ts';
import { defineCommand } from '../../define-command.ts';
import { readDocument } from '../../inputs/document.ts';
import { checkMasks, policyBody, policyFlags } from '../../inputs/policy.ts';
import { refuseNoField } from '../../inputs/refuse-no-field.ts';

export default defineCommand({
  words: 'policies update',
  summary: 'Change fields of an access policy; the others stay',
  kind: 'mutate',
  positionals: [{ name: 'policy', summary: 'Policy id' }],
  flags: policyFlags,
  check: ({ flags }) => refuseNoField(flags) ?? checkMasks(flags),
  endpoint: updatePolicy,
  input: async ({ tenant, positionals, flags, ctx }) => ({
    params: { tenantID: tenant, policyID: positionals.policy },
    body: policyBody(flags, await readDocument(ctx, flags['from-file'])),
  }),
  examples: [
    {
      line: 'svc policies update 0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c --enabled=false --execute',
      does: 'Put it out of effect',
    },
  ],
});
