import {
  createRelease,
  disableStaging,
  enableStaging,
  finalizeRelease,
  getSite,
  grantUpload,
  releaseVersionCharsMax,
  setSite,
  startSiteAuth,
  unpublishSite,
} from '@svc/contract/static-sites.ts';
import { defineCommand, deployCredential, describeCall } from '../../command.ts';
import { sanitize } from '../../framework/text.ts';
import { appFlag } from '../../inputs/common.ts';
import { bodyFlags, serviceWorkersRetired, visibilityRetired } from '../../static/flags.ts';
import { printUnpublishedNote, siteView } from '../../static/views.ts';

export const appsStaticDeploy = defineCommand({
  words: 'apps static deploy',
  summary: 'Deploy a folder as a release of the site',
  description:
    'Uploads only files that the server does not have. While the app is private the release becomes active at once. ' +
    'Otherwise it is staged if staging is enabled (exit 0) and shown after a review; without staging it is stored and ' +
    'not shown (exit 11). Links are rejected; .git, node_modules, .env and .npmrc files, keys and editor backups are ' +
    'excluded. The site settings come from svc.yaml or svc.json in the folder, otherwise from the svc.yaml above it ' +
    'or above the current folder, unless its app.slug names another app. An interrupted deployment resumes with the ' +
    `same command. ${deployCredential}`,
  kind: 'mutate',
  credential: 'login_or_pat',
  calls:
    `${describeCall(createRelease)}, PUT each missing file to the URL that it returns, if that has expired ` +
    `${describeCall(grantUpload)}, then ${describeCall(finalizeRelease)}`,
  timeoutDefault: '24h',
  flags: {
    ...appFlag,
    'from-dir': {
      type: 'string',
      placeholder: 'folder',
      summary: 'Folder with the built site (static.dir of svc.yaml)',
    },
    'release-version': {
      type: 'string',
      placeholder: 'label',
      summary: `A label for the release, at most ${releaseVersionCharsMax} characters`,
    },
  },
  run: async (ctx, { flags }) => {
    const { deploySite } = await import('../../static/deploy-site.ts');
    return deploySite(ctx, {
      app: flags.app,
      fromDir: flags['from-dir'],
      version: flags['release-version'],
    });
  },
  output: async () => (await import('../../output/schemas.ts')).deployedSchema,
  examples: {
    '--app pet-shop --from-dir site': 'Preview it',
    '--app pet-shop --from-dir site --release-version v1.2 --execute': 'Deploy it',
  },
});

export const appsStaticAuthStart = defineCommand({
  words: 'apps static auth start',
  summary: 'Get a URL that signs you in to a site you may see',
  description:
    'For browsers without a login: the URL works once, for one minute, and redirects to the target. Whoever opens it ' +
    'first is signed in as you, so do not share it. There is no preview.',
  kind: 'act',
  calls: `${startSiteAuth.method} ${startSiteAuth.path}`,
  flags: {
    target: { type: 'string', placeholder: 'url', required: true, summary: 'URL of a site' },
    app: { type: 'string', placeholder: 'app', summary: 'App that the site must belong to, by id or slug' },
  },
  run: async (ctx, { flags }) => {
    const body = { target: flags.target, app: flags.app };
    const answer = await (await ctx.client()).call(startSiteAuth, { body });
    ctx.note(`Works once, until ${sanitize(answer.expires_at)}.`);
    return { value: answer, text: () => `${sanitize(answer.redirect_url)}\n` };
  },
  output: async () => (await import('@svc/contract/static-sites.shapes.ts')).startSiteAuth.answer,
  examples: { '--target http://pet-shop.apps.localhost:4400/': 'Print the URL' },
});

export const appsStaticSiteGet = defineCommand({
  words: 'apps static site get',
  summary: 'Show the status, staged release and configuration of a site',
  kind: 'read',
  flags: appFlag,
  endpoint: getSite,
  present: (ctx, site, { flags }) => {
    printUnpublishedNote(ctx, site, flags.app);
    return site;
  },
  view: siteView,
  examples: { '--app pet-shop': 'Show its URL and its releases' },
});

export const appsStaticSiteSet = defineCommand({
  words: 'apps static site set',
  summary: 'Replace the configuration of a site',
  description:
    'The object has index, spa, not_found, clean_urls, trailing_slash, headers and redirects, as site in svc.yaml; a ' +
    'whole svc.yaml is accepted too. Absent keys are reset to their defaults. The configuration of a release ' +
    'overrides it. What is reviewed, or requested to be, does not change: if the app is visible beyond its owners, ' +
    'the new configuration takes effect with the next release.',
  kind: 'mutate',
  flags: {
    ...appFlag,
    ...bodyFlags,
    visibility: { type: 'string', retired: visibilityRetired, summary: 'Who sees the site' },
    'service-worker-allowed': {
      type: 'boolean',
      retired: serviceWorkersRetired,
      summary: 'Service workers may run',
    },
    'service-worker-disallowed': {
      type: 'boolean',
      retired: serviceWorkersRetired,
      summary: 'Service workers may not run',
    },
  },
  oneRequired: [['body-json', 'from-file']],
  calls: describeCall(setSite),
  run: async (ctx, { flags }) => {
    const { setConfig } = await import('../../static/bodies.ts');
    return setConfig(ctx, flags);
  },
  output: async () => (await import('@svc/contract/static-sites.shapes.ts')).setSite.answer,
  examples: {
    '--app pet-shop --body-json \'{"spa":true}\'': 'Preview it',
    '--app pet-shop --from-file site.yaml --execute': 'From a file',
  },
});

export const appsStaticSiteUnpublish = defineCommand({
  words: 'apps static site unpublish',
  summary: 'Stop serving a site',
  description:
    'Takes effect at once, for everybody. The visibility of the app does not change: svc apps static releases ' +
    'activate with the same release shows it to the same people again.',
  kind: 'mutate',
  flags: appFlag,
  endpoint: unpublishSite,
  present: (ctx, site, { flags }) => {
    printUnpublishedNote(ctx, site, flags.app);
    return site;
  },
  view: siteView,
  examples: { '--app pet-shop --execute': 'Stop serving' },
});

export const appsStaticSiteStagingEnable = defineCommand({
  words: 'apps static site staging enable',
  summary: 'Enable a staging host for a site',
  description:
    'Owners, co-owners and tenant admins can see the staged release there. Search engines never index it.',
  kind: 'mutate',
  flags: appFlag,
  endpoint: enableStaging,
  view: siteView,
  examples: { '--app pet-shop --execute': 'Enable it' },
});

export const appsStaticSiteStagingDisable = defineCommand({
  words: 'apps static site staging disable',
  summary: 'Disable the staging host of a site',
  description: 'The staged release is unstaged, and a request to promote it is closed.',
  kind: 'mutate',
  flags: appFlag,
  endpoint: disableStaging,
  view: siteView,
  examples: { '--app pet-shop --execute': 'Disable it' },
});
