import { iconTypes, iconVariants, preCreateIcon, signIcon } from '@svc/contract/icons.ts';
import { appFlag } from '../../app-flag.ts';
import { defineCommand } from '../../define-command.ts';
import { usage } from '../../errors.ts';

const { required: _, ...app } = appFlag.app;

export default defineCommand({
  words: 'apps sign-icon-upload',
  summary: 'Upload an icon of an app, or get the address for an upload before the app exists',
  description:
    'Asks the server for a short-lived address, and with --execute uploads the file there, which makes it the icon of ' +
    'the app. Without --execute the address is asked for and printed, and nothing is uploaded. The type is told by the ' +
    'content of the file, not by its name. With --pre-create nothing is ever uploaded: PUT the file to put_url ' +
    'yourself, then create the app with icon_url. Whoever has put_url can upload, until it expires.',
  kind: 'mutate',
  calls: `${signIcon.method} ${signIcon.path}, with --pre-create ${preCreateIcon.method} ${preCreateIcon.path}`,
  flags: {
    app: { ...app, requiredUnless: ['pre-create'] },
    file: {
      type: 'string',
      placeholder: 'path',
      requiredUnless: ['pre-create'],
      summary: 'The icon: PNG, JPEG, WEBP or GIF of at most 2 MB',
    },
    variant: {
      type: 'enum',
      values: iconVariants,
      default: 'light',
      summary: 'Which of the two icons it is',
    },
    'pre-create': {
      type: 'boolean',
      default: false,
      requires: ['slug', 'content-type'],
      winsOver: ['app', 'file'],
      summary: 'Only get an address, for an app that does not exist yet; needs --tenant',
    },
    slug: {
      type: 'string',
      placeholder: 'slug',
      requires: ['pre-create'],
      summary: 'Of the app to be, with --pre-create',
    },
    'content-type': {
      type: 'enum',
      values: iconTypes,
      requires: ['pre-create'],
      summary: 'Of the file to be uploaded, with --pre-create',
    },
  },
  run: async (ctx, { flags }) => {
    const { app, file, slug, variant, 'content-type': type } = flags;
    if (flags['pre-create']) {
      if (slug === undefined || type === undefined)
        throw usage('--pre-create needs --slug and --content-type.');
      return (await import('../../icons/pre-create-icon.ts')).preCreateIcon(ctx, { slug, type, variant });
    }
    if (app === undefined || file === undefined) throw usage('--app and --file must be given.');
    return (await import('../../icons/upload-icon.ts')).uploadIcon(ctx, { app, file, variant });
  },
  output: {
    type: 'object',
    properties: {
      put_url: { type: 'string' },
      icon_url: { type: 'string' },
      content_type: { enum: iconTypes },
      variant: { enum: iconVariants },
      bytes_max: { type: 'integer' },
      expires_at: { type: 'string' },
      uploaded: { type: 'boolean', description: 'Never with --pre-create.' },
      app: { type: 'string', description: 'The slug of the app whose icon it is now.' },
      app_id: { type: 'string' },
      size: { type: 'integer' },
      width: { type: 'integer' },
      height: { type: 'integer' },
      sha256: { type: 'string' },
      slug: { type: 'string', description: 'With --pre-create.' },
    },
    required: ['put_url', 'icon_url', 'content_type', 'variant', 'bytes_max', 'expires_at', 'uploaded'],
  },
  examples: [
    {
      line: 'svc apps sign-icon-upload --app pet-shop --file icon.png',
      does: 'Get the address, upload nothing',
    },
    {
      line: 'svc apps sign-icon-upload --app pet-shop --file icon.png --variant dark --execute',
      does: 'Upload the icon for dark backgrounds',
    },
    {
      line: 'svc apps sign-icon-upload --pre-create --tenant demo --slug pet-shop --content-type image/png --execute',
      does: 'Get an address before the app exists',
    },
  ],
});
