import { signUpload } from '@svc/contract/storage.ts';
import { appFlag } from '../../../app-flag.ts';
import { defineCommand } from '../../../define-command.ts';
import { usage } from '../../../errors.ts';

export default defineCommand({
  words: 'apps storage put',
  summary: 'Upload a file as an object',
  description:
    'The object is there when all of it has arrived; an upload that is stopped leaves nothing, and what was there ' +
    'before stays until then. Without --execute the server says whether it would take it.',
  kind: 'mutate',
  calls: `${signUpload.method} ${signUpload.path}, then PUT to the address it answers`,
  timeoutDefault: '24h',
  positionals: [
    { name: 'file', summary: 'The file; - reads standard input' },
    {
      name: 'key',
      optional: true,
      summary: "Key of the object (the file's name; a / at the end puts it below)",
    },
  ],
  flags: {
    ...appFlag,
    'content-type': { type: 'string', placeholder: 'type', summary: 'Media type (by what the name ends in)' },
  },
  run: async (ctx, { positionals, flags }) => {
    const { file, key = '' } = positionals;
    if (file === '-' && (key === '' || key.endsWith('/')))
      throw usage('Standard input has no name: give a key.');
    const [{ openStorage }, { uploadOne }, { keyWithin }, { contentTypeOf }] = await Promise.all([
      import('../../../storage/storage-place.ts'),
      import('../../../storage/copy-one.ts'),
      import('../../../storage/sides.ts'),
      import('../../../storage/content-type.ts'),
    ]);
    const whole = keyWithin(key, file);
    const contentType = flags['content-type'] ?? contentTypeOf(whole);
    return uploadOne(ctx, await openStorage(ctx, flags.app), { file, key: whole, contentType });
  },
  output: {
    type: 'object',
    properties: {
      key: { type: 'string' },
      size: { type: 'integer' },
      content_type: { type: 'string' },
      sha256: { type: 'string' },
    },
    required: ['key', 'size', 'content_type', 'sha256'],
  },
  examples: [
    {
      line: 'svc apps storage put pet.json pets/rex.json --app pet-shop',
      does: 'See whether it would be taken',
    },
    {
      line: 'svc apps storage put pet.json pets/ --app pet-shop --execute',
      does: 'Upload it as pets/pet.json',
    },
  ],
});
