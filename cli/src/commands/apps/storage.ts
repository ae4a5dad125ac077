import {
  copyObject,
  deleteObject,
  downloadUrlSecondsDefault,
  enableStorage,
  getObjectUrl,
  getStorage,
  listObjects,
  objectDelimiterCharsMax,
  objectListLimitDefault,
  objectListLimitMax,
  signedUrlSecondsMax,
  signUpload,
} from '@svc/contract/storage.ts';
import { defineCommand, objectSchema } from '../../command.ts';
import { usageError } from '../../framework/errors.ts';
import { appFlag } from '../../inputs/common.ts';
import { parseSide } from '../../storage/storage.ts';

export const appsStorageStatus = defineCommand({
  words: 'apps storage status',
  summary: 'Show whether storage is enabled for an app, and how much is stored',
  kind: 'read',
  flags: appFlag,
  endpoint: getStorage,
  examples: { '--app pet-shop': 'Show the number of objects and bytes' },
});

export const appsStorageEnable = defineCommand({
  words: 'apps storage enable',
  summary: 'Enable storage for an app',
  description:
    'If it is already enabled, nothing changes. `storage.enabled: true` in svc.yaml enables it for a new app.',
  kind: 'mutate',
  flags: appFlag,
  endpoint: enableStorage,
  examples: { '--app pet-shop --execute': 'Enable it' },
});

export const appsStorageLs = defineCommand({
  words: 'apps storage ls',
  summary: "List an app's objects by key",
  description:
    'Sorted by key. With --delimiter, keys with the same beginning up to the delimiter are shown as one prefix: ' +
    '--delimiter / shows one folder level.',
  kind: 'read',
  calls: `${listObjects.method} ${listObjects.path}`,
  flags: {
    ...appFlag,
    prefix: { type: 'string', placeholder: 'prefix', summary: 'Only keys that begin with this prefix' },
    delimiter: {
      type: 'string',
      placeholder: 'text',
      summary: `Group keys up to this delimiter after the prefix; at most ${objectDelimiterCharsMax} characters`,
    },
    limit: {
      type: 'integer',
      min: 1,
      max: objectListLimitMax,
      summary: `Objects and prefixes per page (${objectListLimitDefault})`,
    },
    cursor: {
      type: 'string',
      placeholder: 'cursor',
      summary: 'Continue after next_cursor of the previous page',
    },
    all: { type: 'boolean', summary: 'Fetch all pages' },
  },
  run: async (ctx, { flags }) => {
    const { listObjectsResult, openStorage } = await import('../../storage/storage.ts');
    const { app, all, ...query } = flags;
    return listObjectsResult(ctx, await openStorage(ctx, app), { query, pages: all ? 'all' : 'one' });
  },
  output: objectSchema({
    items: {
      type: 'array',
      items: objectSchema({
        key: 'string',
        size: 'integer',
        content_type: 'string',
        sha256: 'string',
        created_at: 'string',
        updated_at: 'string',
      }),
    },
    prefixes: { type: 'array', items: { type: 'string' } },
    next_cursor: { anyOf: [{ type: 'string' }, { type: 'null' }] },
  }),
  view: { columns: ['key', 'size', 'content_type', 'updated_at'] },
  examples: {
    '--app pet-shop --delimiter /': 'List the top level',
    '--app pet-shop --prefix photos/2027/ --all': 'List everything below a folder',
  },
});

export const appsStorageGetUrl = defineCommand({
  words: 'apps storage get-url',
  summary: 'Get a signed URL for downloading an object',
  description:
    'Anyone who has the URL can download the object until it expires, without a login. It also stops working when you ' +
    'can no longer read the object.',
  kind: 'read',
  positionals: [{ name: 'key', summary: 'Key of the object' }],
  flags: {
    ...appFlag,
    'expires-in': {
      type: 'duration',
      min: '1s',
      max: `${signedUrlSecondsMax / 3600}h`,
      summary: `Lifetime (${downloadUrlSecondsDefault / 60}m)`,
    },
  },
  endpoint: getObjectUrl,
  input: ({ positionals, flags }) => ({
    query: {
      key: positionals.key,
      expires_in: flags['expires-in'] === undefined ? undefined : Math.ceil(flags['expires-in'] / 1000),
    },
  }),
  examples: { 'photos/rex.jpg --app pet-shop': 'Get a URL for five minutes' },
});

export const appsStoragePut = defineCommand({
  words: 'apps storage put',
  summary: 'Upload a file as an object',
  description:
    'The object appears when the upload is complete; an interrupted upload leaves nothing, and an existing object ' +
    'stays until then. Without --execute the server checks whether it would accept the file.',
  kind: 'mutate',
  calls: `${signUpload.method} ${signUpload.path}, then PUT to the URL that it returns`,
  timeoutDefault: '24h',
  positionals: [
    { name: 'file', summary: 'File; - reads standard input' },
    {
      name: 'key',
      optional: true,
      summary: "Key of the object (the file's name; a trailing / adds the file's name)",
    },
  ],
  flags: {
    ...appFlag,
    'content-type': { type: 'string', placeholder: 'type', summary: 'Media type (by file extension)' },
  },
  run: async (ctx, { positionals, flags }) => {
    const { file, key = '' } = positionals;
    if (file === '-' && (key === '' || key.endsWith('/')))
      throw usageError('Standard input has no name: pass a key.');
    const [{ openStorage, resolveKey }, { uploadOne }, { bareMediaType }] = await Promise.all([
      import('../../storage/storage.ts'),
      import('../../storage/transfer.ts'),
      import('@svc/contract/media-types.ts'),
    ]);
    const whole = resolveKey(key, file);
    const contentType = flags['content-type'] ?? bareMediaType(whole);
    return uploadOne(ctx, await openStorage(ctx, flags.app), { file, key: whole, contentType });
  },
  output: objectSchema({ key: 'string', size: 'integer', content_type: 'string', sha256: 'string' }),
  examples: {
    'pet.json pets/rex.json --app pet-shop': 'Check whether it would be accepted',
    'pet.json pets/ --app pet-shop --execute': 'Upload it as pets/pet.json',
  },
});

export const appsStorageCp = defineCommand({
  words: 'apps storage cp',
  summary: 'Copy to, from or within the storage of an app',
  description:
    'A side that begins with : is a key of the app, anything else is a path; - is standard input or output. Downloads ' +
    'change nothing on the platform and run at once; writes preview unless --execute is given. Files and objects ' +
    'appear when they are complete. With --recursive both sides are folders, and several files are copied in ' +
    'parallel; files copied before an error stay.',
  kind: 'mutate',
  calls:
    `${signUpload.method} ${signUpload.path}, ${getObjectUrl.method} ${getObjectUrl.path}, ` +
    `${copyObject.method} ${copyObject.path}`,
  timeoutDefault: '24h',
  positionals: [
    { name: 'source', summary: ':key, a path, or - for standard input' },
    { name: 'target', summary: ':key, a path, or - for standard output' },
  ],
  flags: {
    ...appFlag,
    recursive: { type: 'boolean', short: 'r', summary: 'Copy a folder with everything below it' },
    'content-type': {
      type: 'string',
      placeholder: 'type',
      summary: 'Media type of uploads (by file extension)',
    },
  },
  check: ({ positionals, flags }) => {
    const [source, target] = [parseSide(positionals.source), parseSide(positionals.target)];
    if (source.kind !== 'object' && target.kind !== 'object')
      return 'One side must be in the storage: write its key with a colon, :key.';
    if (target.kind !== 'object' && Reflect.get(flags, 'dry-run') === true)
      return 'A download has no preview; remove --dry-run.';
    if (flags.recursive && (source.kind === 'standard' || target.kind === 'standard'))
      return '--recursive needs folders.';
    if (!flags.recursive && source.kind === 'object' && (source.key === '' || source.key.endsWith('/')))
      return 'The source is a folder; add --recursive.';
    if (
      source.kind === 'standard' &&
      target.kind === 'object' &&
      (target.key === '' || target.key.endsWith('/'))
    )
      return 'Standard input has no name: pass a key.';
    return undefined;
  },
  run: async (ctx, { positionals, flags }) => {
    const { openStorage } = await import('../../storage/storage.ts');
    const { copyBetween } = await import('../../storage/copy.ts');
    return copyBetween(ctx, await openStorage(ctx, flags.app), {
      source: positionals.source,
      target: positionals.target,
      what: flags.recursive ? 'folder' : 'one',
      contentType: flags['content-type'],
    });
  },
  output: {
    anyOf: [
      {
        type: 'object',
        description: 'For a copy to the storage.',
        properties: {
          key: { type: 'string' },
          size: { type: 'integer' },
          content_type: { type: 'string' },
          sha256: { type: 'string' },
          changed: { const: false },
        },
        required: ['key', 'size', 'content_type', 'sha256'],
      },
      {
        type: 'object',
        description: 'For a download.',
        properties: { key: { type: 'string' }, file: { type: 'string' }, bytes: { type: 'integer' } },
        required: ['key', 'file', 'bytes'],
      },
      {
        type: 'object',
        description: 'With --recursive.',
        properties: { target: { type: 'string' }, objects: { type: 'integer' }, bytes: { type: 'integer' } },
        required: ['target', 'objects', 'bytes'],
      },
    ],
  },
  examples: {
    'pet.json :pets/ --app pet-shop --execute': 'Upload pets/pet.json',
    ':pets/pet.json copy.json --app pet-shop': 'Download it',
    ':pets/pet.json :old/pet.json --app pet-shop --execute': 'Copy it',
    '-r site :backup/site --app pet-shop --execute': 'Upload a folder',
  },
});

export const appsStorageRm = defineCommand({
  words: 'apps storage rm',
  summary: 'Permanently delete an object',
  description: 'There is no undo.',
  kind: 'mutate',
  calls: `${deleteObject.method} ${deleteObject.path}`,
  positionals: [{ name: 'key', summary: 'Key of the object' }],
  flags: appFlag,
  run: async (ctx, { positionals, flags }) => {
    const { openStorage } = await import('../../storage/storage.ts');
    const { carryOut } = await import('../../mutation.ts');
    const { client, params } = await openStorage(ctx, flags.app);
    const { key } = positionals;
    const input = { params, query: { key } };
    return carryOut(ctx, {
      irreversible: deleteObject.irreversible,
      preview: () => client.preview(deleteObject, input),
      execute: async (plan) => {
        await client.call(deleteObject, input, { ifPlan: plan });
        return { value: { deleted: true, key } };
      },
    });
  },
  output: objectSchema({ deleted: { const: true }, key: 'string' }),
  examples: { 'photos/rex.jpg --app pet-shop --execute': 'Delete it' },
});
