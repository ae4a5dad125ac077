import {
  createPolicy,
  deletePolicy,
  getPolicy,
  listPolicies,
  listPolicyWarnings,
  updatePolicy,
} from '@svc/contract/access-policies.ts';
import { defineCommand } from '../command.ts';
import { checkAnyField, pageFlags } from '../inputs/common.ts';
import { readDocument } from '../inputs/document.ts';
import { checkMasks, policyBody, policyFlags } from '../inputs/policy.ts';
import { policyView, policyWarningView } from '../views/access.ts';

export const policiesList = defineCommand({
  words: 'policies list',
  summary: "List the tenant's access policies",
  kind: 'read',
  flags: {
    connector: {
      type: 'string',
      placeholder: 'connector',
      summary: 'Only policies of this connector, by id or slug',
    },
    ...pageFlags,
  },
  endpoint: listPolicies,
  input: ({ flags }) => ({ query: { connector_id: flags.connector } }),
  present: async (ctx, answer) => (await import('../access/names.ts')).namePolicies(ctx, answer),
  view: policyView,
  examples: { '--connector warehouse': 'List the policies of one connector' },
});

export const policiesGet = defineCommand({
  words: 'policies get',
  summary: 'Show one access policy',
  kind: 'read',
  positionals: [{ name: 'policy', summary: 'Policy id or name' }],
  endpoint: getPolicy,
  present: async (ctx, answer) => (await import('../access/names.ts')).namePolicies(ctx, answer),
  view: policyView,
  examples: {
    "'own region'": 'Show a policy by its name',
    '0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c -o yaml': 'Print it as YAML, to edit and send back',
  },
});

export const policiesCreate = defineCommand({
  words: 'policies create',
  summary: 'Create an access policy',
  kind: 'mutate',
  flags: policyFlags,
  oneRequired: [['name', 'from-file']],
  check: ({ flags }) => checkMasks(flags),
  endpoint: createPolicy,
  input: async ({ tenant, flags, ctx }) => {
    const body = policyBody(flags, await readDocument(ctx, flags['from-file']));
    return { params: { tenantID: tenant }, body: { ...body, name: body.name ?? '' } };
  },
  examples: {
    "--name 'own region' --connector warehouse --row-filter region=eq.eu --execute": 'Only some rows',
    '--name masked --columns-mode deny --columns salary --mask \'email:partial:{"first":2}\'':
      'Hide one column, mask another',
    '--from-file policy.yaml --execute': 'From a file',
  },
});

export const policiesUpdate = defineCommand({
  words: 'policies update',
  summary: 'Update fields of an access policy',
  kind: 'mutate',
  positionals: [{ name: 'policy', summary: 'Policy id or name' }],
  flags: policyFlags,
  check: ({ flags }) => checkAnyField(flags) ?? checkMasks(flags),
  endpoint: updatePolicy,
  input: async ({ flags, ctx }) => ({ body: policyBody(flags, await readDocument(ctx, flags['from-file'])) }),
  examples: { "'own region' --enabled=false --execute": 'Disable it' },
});

export const policiesDelete = defineCommand({
  words: 'policies delete',
  summary: 'Delete an access policy that no active grant uses',
  kind: 'mutate',
  positionals: [{ name: 'policy', summary: 'Policy id or name' }],
  endpoint: deletePolicy,
  examples: { '0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c --execute': 'Delete it' },
});

export const policiesWarnings = defineCommand({
  words: 'policies warnings',
  summary: 'List enabled policies that block a table they do not fit, cover no table, or limit nothing',
  kind: 'read',
  flags: {
    connector: {
      type: 'string',
      placeholder: 'connector',
      summary: 'Only policies for this connector, by id or slug',
    },
    policy: { type: 'string', placeholder: 'policy', summary: 'Only this policy, by id or name' },
    ...pageFlags,
  },
  endpoint: listPolicyWarnings,
  input: ({ flags }) => ({ query: { connector: flags.connector, policy: flags.policy } }),
  view: policyWarningView,
  examples: { '--connector warehouse': 'Look for policies that a change of the tables has broken' },
});
