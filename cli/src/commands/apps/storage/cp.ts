import { copyObject, getObjectUrl, signUpload } from '@svc/contract/storage.ts';
import { appFlag } from '../../../app-flag.ts';
import { defineCommand } from '../../../define-command.ts';
import { sideOf } from '../../../storage/sides.ts';

export default defineCommand({
  words: 'apps storage cp',
  summary: 'Copy to, from or within the storage of an app',
  description:
    'A side that begins with : is a key of the app, all else is a path; - is standard input or output. A download ' +
    'changes nothing on the platform and is done at once; what writes there previews unless told to --execute. Files ' +
    'and objects appear when they are whole. With --recursive both sides are folders, and a few are copied at a time; ' +
    'what was copied before an error stays.',
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
      summary: 'Media type of uploads (by what names end in)',
    },
  },
  check: ({ positionals, flags }) => {
    const [source, target] = [sideOf(positionals.source), sideOf(positionals.target)];
    if (source.kind !== 'object' && target.kind !== 'object')
      return 'One of the two must be in the storage: write its key with a colon, :key.';
    if (target.kind !== 'object' && Reflect.get(flags, 'dry-run') === true)
      return 'A download is done at once and has no preview; leave --dry-run out.';
    if (flags.recursive && (source.kind === 'standard' || target.kind === 'standard'))
      return '--recursive needs folders.';
    if (!flags.recursive && source.kind === 'object' && (source.key === '' || source.key.endsWith('/')))
      return 'The source is a folder; add --recursive.';
    if (
      source.kind === 'standard' &&
      target.kind === 'object' &&
      (target.key === '' || target.key.endsWith('/'))
    )
      return 'Standard input has no name: give a key.';
    return undefined;
  },
  run: async (ctx, { positionals, flags }) => {
    const { openStorage } = await import('../../../storage/storage-place.ts');
    const { copyBetween } = await import('../../../storage/copy-between.ts');
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
        description: 'Of one that was written to the storage.',
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
        description: 'Of a download.',
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
  examples: [
    {
      line: 'svc apps storage cp pet.json :pets/ --app pet-shop --execute',
      does: 'Upload pets/pet.json',
    },
    {
      line: 'svc apps storage cp :pets/pet.json copy.json --app pet-shop',
      does: 'Download it',
      reads: true,
    },
    { line: 'svc apps storage cp :pets/pet.json :old/pet.json --app pet-shop --execute', does: 'Copy it' },
    { line: 'svc apps storage cp -r site :backup/site --app pet-shop --execute', does: 'Upload a folder' },
  ],
});
