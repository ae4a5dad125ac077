import { cancelBootstrap, forkApp, getBootstrap, startBootstrap } from '@svc/contract/bootstrap.ts';
import { pollGitLink } from '@svc/contract/git-host.ts';
import { perPageMax } from '@svc/contract/limits.ts';
import { createTemplate, deleteTemplate, listTemplates } from '@svc/contract/templates.ts';
import { repoFields, repoFlags, watchFlags, watchOptions } from '../../bootstrap/flags.ts';
import { defineCommand, describeCall } from '../../command.ts';
import { approvalFlags, checkApprovalFlags, resumeOptions } from '../../git-host/flags.ts';
import { flagFields } from '../../inputs/common.ts';
import { templateView } from '../../views/apps.ts';
import { bootstrapView } from '../../views/delivery.ts';

export const appsTemplatesList = defineCommand({
  words: 'apps templates list',
  summary: 'List the app templates',
  kind: 'read',
  endpoint: listTemplates,
  input: () => ({ query: { per_page: perPageMax } }),
  view: templateView,
  examples: { '': "List the built-in templates and the tenant's own" },
});

export const appsTemplatesAdd = defineCommand({
  words: 'apps templates add',
  summary: 'Add a repository of the git host as a template (tenant admins)',
  kind: 'mutate',
  flags: {
    repo: { type: 'string', placeholder: 'owner/name', required: true, summary: 'Repository' },
    ref: { type: 'string', summary: 'Branch, tag or commit (the default branch)' },
    name: { type: 'string', required: true, summary: 'Display name' },
    description: { type: 'string', summary: 'Description for users who choose a template' },
    alias: { type: 'string', placeholder: 'slug', summary: 'Short name beside the id' },
  },
  endpoint: createTemplate,
  input: ({ flags }) => ({
    body: flagFields(flags, 'repo', 'ref', 'name', 'description', 'alias'),
  }),
  view: templateView,
  examples: {
    "--repo acme/house-style --name 'House style' --alias house --execute":
      'Let apps be created with --template house',
  },
});

export const appsTemplatesRemove = defineCommand({
  words: 'apps templates remove',
  summary: 'Remove a template of the tenant (tenant admins); apps created from it stay',
  kind: 'mutate',
  positionals: [{ name: 'template', summary: 'Id of the template, from list' }],
  endpoint: deleteTemplate,
  examples: { '01977777-7777-7777-8777-777777777777 --execute': 'Remove it' },
});

export const appsBootstrap = defineCommand({
  words: 'apps bootstrap',
  summary: 'Create an app from a template, with a repository and a first deployment',
  description:
    'The run continues on the server; with --watch its steps are shown until it ends. Exits with 9 if the run failed ' +
    'or was canceled, and with 10 if --watch-timeout passes. If your git host account is not linked, the command ' +
    'shows a code that you approve there: on a terminal it waits for the approval, elsewhere it stores the code and ' +
    'exits with 11, and svc apps bootstrap --resume-last --execute continues. Without --slug the slug is derived from ' +
    '--name.',
  kind: 'mutate',
  timeoutDefault: '24h',
  calls: `${describeCall(startBootstrap)}, where a code was approved ${describeCall(pollGitLink)}, with --watch ${describeCall(getBootstrap)}`,
  flags: {
    template: {
      type: 'string',
      placeholder: 'template',
      requiredUnless: ['device-code', 'resume-last'],
      summary: 'Template id, or react, nextjs or astro; svc apps templates list shows all',
    },
    slug: { type: 'string', placeholder: 'slug', summary: 'Short name for commands and URLs' },
    name: { type: 'string', summary: 'Display name (the slug)' },
    subdomain: { type: 'string', placeholder: 'label', summary: 'Subdomain of the app (the slug)' },
    ...repoFlags,
    ...watchFlags,
    ...approvalFlags,
  },
  check: ({ flags }) => {
    if (flags.template !== undefined && flags.slug === undefined && flags.name === undefined)
      return 'Give --slug or --name.';
    return checkApprovalFlags(flags);
  },
  run: async (ctx, { flags }) => {
    const { bootstrapApp } = await import('../../bootstrap/bootstrap-app.ts');
    const { template, slug, name, subdomain } = flags;
    const request = template === undefined ? null : { template, slug, name, subdomain, ...repoFields(flags) };
    return bootstrapApp(ctx, { request, resume: resumeOptions(flags), watch: watchOptions(flags) });
  },
  output: async () => (await import('../../output/schemas.ts')).bootstrapSchema,
  examples: {
    '--template react --slug hello': 'Preview it',
    '--template react --slug hello --execute --watch': 'Create it and wait until it responds',
    "--template astro --name 'Our Docs' --repo-name docs --repo-public --execute":
      'With a repository that every member can read',
  },
});

export const appsBootstrapStatus = defineCommand({
  words: 'apps bootstrap-status',
  summary: 'Show the progress of a bootstrap or fork',
  description:
    'With --watch the steps are shown until the run ends. Exits with 9 if the run failed or was canceled, and with 10 ' +
    'if --watch-timeout passes; the run continues on the server.',
  kind: 'read',
  timeoutDefault: '24h',
  calls: `${getBootstrap.method} ${getBootstrap.path}`,
  positionals: [{ name: 'bootstrap', summary: 'Id of the run, as svc apps bootstrap prints it' }],
  flags: watchFlags,
  run: async (ctx, { positionals, flags }) => {
    const [{ readRun, watchRun }, { resolveTenant }, { bootstrapView }] = await Promise.all([
      import('../../bootstrap/watch-run.ts'),
      import('../../session/tenant.ts'),
      import('../../views/delivery.ts'),
    ]);
    const tenantID = await resolveTenant(ctx);
    const run = await readRun(ctx, { tenantID, run: positionals.bootstrap });
    const watch = watchOptions(flags);
    return watch === null ? { value: run, view: bootstrapView } : watchRun(ctx, { tenantID, run, watch });
  },
  output: async () => (await import('@svc/contract/bootstrap.shapes.ts')).BootstrapRun,
  examples: {
    '01977777-7777-7777-8777-777777777777': 'Show its status',
    '01977777-7777-7777-8777-777777777777 --watch --watch-timeout 10m': 'Watch it until it ends',
  },
});

export const appsBootstrapCancel = defineCommand({
  words: 'apps bootstrap-cancel',
  summary: 'Cancel a bootstrap or fork of yours; what it has created stays',
  description: 'The current step finishes first. The commands that undo what was created are printed.',
  kind: 'mutate',
  positionals: [{ name: 'bootstrap', summary: 'Id of the run, as svc apps bootstrap prints it' }],
  endpoint: cancelBootstrap,
  input: ({ positionals }) => ({ params: { run: positionals.bootstrap } }),
  view: bootstrapView,
  examples: { '01977777-7777-7777-8777-777777777777 --execute': 'Cancel it' },
});

export const appsFork = defineCommand({
  words: 'apps fork',
  summary: 'Create an app from another app: its code and settings, without rows or secrets',
  description:
    'Objects, domains, members and grants are not copied. If the app is yours, its tables are created, empty. The ' +
    'source is an app that you can see; its slug is looked up in your active tenant, and --tenant is the tenant of ' +
    "the new app. If you cannot read the source's code, the template that it was created from is used, or the one " +
    'that you name. The run continues on the server; svc apps bootstrap-status --watch shows its steps. If your git ' +
    'host account is not linked, the command shows a code that you approve there, and exits with 11 unless it runs on ' +
    'a terminal.',
  kind: 'mutate',
  timeoutDefault: '20m',
  positionals: [{ name: 'source', summary: 'App id, or slug of an app in the active tenant' }],
  flags: {
    slug: { type: 'string', placeholder: 'slug', summary: 'Short name of the new app' },
    name: { type: 'string', summary: 'Display name of the new app (the slug)' },
    subdomain: { type: 'string', placeholder: 'label', summary: 'Subdomain of the new app (the slug)' },
    template: {
      type: 'string',
      placeholder: 'template',
      summary: "Template to use instead of the source's code",
    },
    ...repoFlags,
  },
  oneRequired: [['slug', 'name']],
  endpoint: forkApp,
  input: async ({ ctx, tenant, positionals, flags }) => ({
    body: {
      source: await (await import('../../bootstrap/bootstrap-app.ts')).resolveForkSource(ctx, {
        source: positionals.source,
        destination: tenant,
      }),
      slug: flags.slug,
      name: flags.name ?? flags.slug,
      subdomain: flags.subdomain,
      template: flags.template,
      ...repoFields(flags),
    },
  }),
  view: bootstrapView,
  finish: async (ctx, result) => (await import('../../bootstrap/bootstrap-app.ts')).finishFork(ctx, result),
  examples: {
    'pet-shop --slug my-pet-shop': 'Preview it',
    'pet-shop --slug my-pet-shop --repo-public --execute': 'Create it',
    'pet-shop --slug pet-shop --tenant other --execute':
      'Create it in another tenant, from an app of the active one',
  },
});
