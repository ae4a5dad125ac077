import { forkApp } from '@svc/contract/bootstrap.ts';
import { repoFlags, repoOf } from '../../bootstrap/repo-flags.ts';
import { defineCommand } from '../../define-command.ts';
import { bootstrapView } from '../../views/bootstrap.ts';

export default defineCommand({
  words: 'apps fork',
  summary: 'Make an app from another: its code and settings, never its rows or secrets',
  description:
    'Neither are its objects, domains, members and grants copied. With the code of an app of yours its tables are made, empty. The source is an app that you see; its slug is one of ' +
    'your active tenant, while --tenant is where the new one will be. Where its code is not readable for you, the template that it was made from is taken, or the one that ' +
    'you name. The run goes on at the server; svc apps bootstrap-status --watch shows its steps. Where your account at the ' +
    'git host is not linked, a code is shown that you approve there; exit 11 where nobody waits for that.',
  kind: 'mutate',
  timeoutDefault: '20m',
  positionals: [{ name: 'source', summary: 'App id, or the slug of one in the active tenant' }],
  flags: {
    slug: { type: 'string', placeholder: 'slug', summary: 'Short name of the new app' },
    name: { type: 'string', summary: 'Name of the new app (the slug)' },
    subdomain: { type: 'string', placeholder: 'label', summary: 'Where the new app answers (the slug)' },
    template: { type: 'string', placeholder: 'template', summary: "In place of the source's own code" },
    ...repoFlags,
  },
  oneRequired: [['slug', 'name']],
  endpoint: forkApp,
  input: async ({ ctx, tenant, positionals, flags }) => ({
    params: { tenantID: tenant },
    body: {
      source: await (await import('../../bootstrap/fork-source.ts')).forkSource(ctx, {
        ...{ source: positionals.source, destination: tenant },
      }),
      ...{ slug: flags.slug, name: flags.name ?? flags.slug },
      ...{ subdomain: flags.subdomain, template: flags.template, ...repoOf(flags) },
    },
  }),
  view: bootstrapView,
  settle: async (ctx, made) => (await import('../../bootstrap/forked.ts')).forked(ctx, made),
  examples: [
    { line: 'svc apps fork pet-shop --slug my-pet-shop', does: 'See what would be made' },
    { line: 'svc apps fork pet-shop --slug my-pet-shop --repo-public --execute', does: 'Make it' },
    {
      line: 'svc apps fork pet-shop --slug pet-shop --tenant other --execute',
      does: 'Make it in another tenant, from an app of the active one',
    },
  ],
});
