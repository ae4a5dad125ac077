import { createApp, getAppDocument, updateApp, visibilities } from '@svc/contract/apps.ts';
import { iconTypes, iconVariants, preCreateIcon, signIcon } from '@svc/contract/icons.ts';
import { perPageMax } from '@svc/contract/limits.ts';
import { listResourcePresets } from '@svc/contract/resource-presets.ts';
import { defineCommand, objectSchema } from '../../command.ts';
import { usageError } from '../../framework/errors.ts';
import { appSettingFlags, appSettings, deployMethodFlag } from '../../inputs/app.ts';
import { appFlag, checkAnyField } from '../../inputs/common.ts';
import { resourcePresetView } from '../../views/apps.ts';

export const appsCreate = defineCommand({
  words: 'apps create',
  summary: 'Create an app; you become its owner',
  description:
    'Without --name the app is named after its slug; without --slug the slug is derived from the name. Flags override ' +
    'the values of a file. --interactive asks for the rest on a terminal. The tenant in a svc.yaml given with ' +
    '--from-file overrides that of the folder.',
  kind: 'mutate',
  flags: {
    name: { type: 'string', summary: 'Display name' },
    slug: { type: 'string', placeholder: 'slug', summary: 'Short name for commands and URLs' },
    category: { type: 'string', placeholder: 'category', summary: 'Category slug or id' },
    ...deployMethodFlag,
    ...appSettingFlags,
    'from-file': {
      type: 'string',
      placeholder: 'path',
      summary: 'Read the fields from a YAML or JSON file, such as svc.yaml; - reads standard input',
    },
    interactive: { type: 'boolean', summary: 'Ask for each field on the terminal' },
  },
  oneRequired: [['name', 'slug', 'from-file', 'interactive']],
  endpoint: createApp,
  ownTenant: async (ctx, { flags }) =>
    (await import('../../inputs/new-app.ts')).readFileTenant(ctx, flags['from-file']),
  input: async ({ tenant, flags, ctx }) => {
    const { newAppBody } = await import('../../inputs/new-app.ts');
    const fields = {
      ...appSettings(flags),
      slug: flags.slug,
      category: flags.category,
      deploy_method: flags['deploy-method'],
      // An empty subdomain clears it.
      ...(flags.subdomain === '' && { subdomain: null }),
    };
    const file = flags['from-file'];
    const body = await newAppBody(ctx, { fields, file, tenant, ask: flags.interactive ? 'all' : 'none' });
    return { params: { tenantID: tenant }, body };
  },
  present: (ctx, app) => {
    const of = `--app ${app.slug}`;
    if (ctx.globals.format === 'table')
      ctx.note(
        `Next: svc deploy ${of} --from-dir . --execute, or push to the URL that svc apps git status ${of} prints.`,
      );
    return app;
  },
  examples: {
    "--name 'Pet Shop' --execute": 'Create an app with the slug pet-shop',
    '--from-file svc.yaml': 'Preview the app that the file describes',
  },
});

export const appsUpdate = defineCommand({
  words: 'apps update',
  summary: "Update an app's settings",
  description:
    'Visibility can only be narrowed here; svc publish requests more. The deploy method cannot change.',
  kind: 'mutate',
  positionals: [{ name: 'app', summary: 'App id or slug' }],
  flags: {
    name: { type: 'string', summary: 'Display name' },
    ...appSettingFlags,
    'category-id': { type: 'string', placeholder: 'category', summary: 'Category id or slug' },
    'clear-category': { type: 'boolean', winsOver: ['category-id'], summary: 'Remove the category' },
    'clear-cost-center': { type: 'boolean', winsOver: ['cost-center'], summary: 'Remove the cost center' },
    'clear-subdomain': {
      type: 'boolean',
      excludes: ['subdomain'],
      summary: 'Remove the host below the apps domain',
    },
    visibility: { type: 'enum', values: visibilities, summary: 'Visibility; narrower only' },
    'deploy-method': { ...deployMethodFlag['deploy-method'], hidden: true },
  },
  // Boolean flags clear a field: false has no effect.
  check: ({ flags }) => checkAnyField(flags, (value) => value !== undefined && value !== false),
  endpoint: updateApp,
  input: ({ flags }) => ({
    body: {
      ...appSettings(flags),
      category_id: flags['clear-category'] ? null : flags['category-id'],
      ...(flags['clear-cost-center'] && { cost_center: null }),
      ...(flags['clear-subdomain'] && { subdomain: null }),
      visibility: flags.visibility,
      deploy_method: flags['deploy-method'],
    },
  }),
  examples: {
    "pet-shop --summary 'Everything for pets' --execute": 'Set the summary',
    'pet-shop --visibility private --execute': 'Show it to its owners only',
    'pet-shop --clear-category --resource-tier M': 'Preview two changes at once',
  },
});

export const appsOpenapi = defineCommand({
  words: 'apps openapi',
  summary: "Print the OpenAPI document of an app's tables that you can access",
  description: 'OpenAPI 3.1, for client generators and API tools.',
  kind: 'read',
  positionals: [{ name: 'app', summary: 'App id or slug' }],
  endpoint: getAppDocument,
  text: (document) => `${JSON.stringify(document, null, 2)}\n`,
  examples: {
    'pet-shop': 'Save it with … > openapi.json',
    'pet-shop -o yaml': 'Print it as YAML',
  },
});

const { required: _, ...app } = appFlag.app;

export const appsSignIconUpload = defineCommand({
  words: 'apps sign-icon-upload',
  summary: "Upload an app's icon, or get an upload URL before the app exists",
  description:
    'Requests a short-lived URL, and with --execute uploads the file there, which makes it the icon of the app. ' +
    'Without --execute the URL is printed and nothing is uploaded. The type is detected from the content of the file. ' +
    'With --pre-create nothing is uploaded: PUT the file to put_url yourself, then create the app with icon_url. ' +
    'Anyone who has put_url can upload until it expires.',
  kind: 'mutate',
  calls: `${signIcon.method} ${signIcon.path}, with --pre-create ${preCreateIcon.method} ${preCreateIcon.path}`,
  flags: {
    app: { ...app, requiredUnless: ['pre-create'] },
    file: {
      type: 'string',
      placeholder: 'path',
      requiredUnless: ['pre-create'],
      summary: 'Icon: PNG, JPEG, WEBP or GIF of at most 2 MB',
    },
    variant: {
      type: 'enum',
      values: iconVariants,
      default: 'light',
      summary: 'Icon for light or dark backgrounds',
    },
    'pre-create': {
      type: 'boolean',
      default: false,
      requires: ['slug', 'content-type'],
      winsOver: ['app', 'file'],
      summary: 'Only get a URL, for an app that does not exist yet; needs --tenant',
    },
    slug: {
      type: 'string',
      placeholder: 'slug',
      requires: ['pre-create'],
      summary: 'Slug of the future app, with --pre-create',
    },
    'content-type': {
      type: 'enum',
      values: iconTypes,
      requires: ['pre-create'],
      summary: 'Type of the file to upload, with --pre-create',
    },
  },
  run: async (ctx, { flags }) => {
    const { app, file, slug, variant, 'content-type': type } = flags;
    if (flags['pre-create']) {
      if (slug === undefined || type === undefined)
        throw usageError('--pre-create requires --slug and --content-type.');
      return (await import('../../apps/icon.ts')).preCreateIcon(ctx, { slug, type, variant });
    }
    if (app === undefined || file === undefined) throw usageError('--app and --file are required.');
    return (await import('../../apps/icon.ts')).uploadIcon(ctx, { app, file, variant });
  },
  output: objectSchema(
    {
      put_url: 'string',
      icon_url: 'string',
      content_type: { enum: iconTypes },
      variant: { enum: iconVariants },
      bytes_max: 'integer',
      expires_at: 'string',
      uploaded: { type: 'boolean', description: 'False with --pre-create.' },
      app: { type: 'string', description: 'Slug of the app with the new icon.' },
      app_id: 'string',
      size: 'integer',
      width: 'integer',
      height: 'integer',
      sha256: 'string',
      slug: { type: 'string', description: 'With --pre-create.' },
    },
    ['app', 'app_id', 'size', 'width', 'height', 'sha256', 'slug'],
  ),
  examples: {
    '--app pet-shop --file icon.png': 'Get the URL without uploading',
    '--app pet-shop --file icon.png --variant dark --execute': 'Upload the icon for dark backgrounds',
    '--pre-create --tenant demo --slug pet-shop --content-type image/png --execute':
      'Get a URL before the app exists',
  },
});

export const appsResourcePresets = defineCommand({
  words: 'apps resource-presets',
  summary: 'List the resource tiers and which of them the tenant may use',
  kind: 'read',
  endpoint: listResourcePresets,
  input: () => ({ query: { per_page: perPageMax } }),
  view: resourcePresetView,
  examples: { '': 'List them before creating an app' },
});
