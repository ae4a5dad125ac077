import { defineCommand } from '../define-command.ts';
import { plain } from '../output.ts';

const text = { type: 'string' } as const;

export default defineCommand({
  words: 'init',
  summary: 'Write a svc.yaml for the app in this folder, from what is found in it',
  description:
    'Looks at package.json, Dockerfile, compose files, pages and the git remote; runs nothing. Commands in the folder and below it then need no --app.',
  kind: 'local',
  positionals: [{ name: 'name', optional: true, summary: 'Name of the app, as --name' }],
  flags: {
    name: { type: 'string', placeholder: 'name', summary: 'Name of the app; found in the folder otherwise' },
    slug: { type: 'string', placeholder: 'slug', summary: 'Slug of the app; made from the name otherwise' },
    force: { type: 'boolean', summary: 'Replace the svc.yaml that is there' },
    print: { type: 'boolean', excludes: ['force'], summary: 'Print it and write nothing' },
  },
  check: ({ flags, positionals }) =>
    flags.name !== undefined && positionals.name !== undefined
      ? 'The name is given twice: as <name> and as --name.'
      : undefined,
  output: {
    type: 'object',
    properties: {
      path: text,
      created: { type: 'boolean', description: 'Whether the file was written; not with --print.' },
      manifest: { type: 'object', description: 'What it holds.' },
      evidence: {
        type: 'array',
        items: {
          type: 'object',
          properties: { key: text, value: text, because: text },
          required: ['key', 'value', 'because'],
        },
      },
    },
    required: ['path', 'created', 'manifest', 'evidence'],
  },
  run: async (ctx, { flags, positionals }) => {
    const { initFolder } = await import('../init/init-folder.ts');
    const { baseUrl } = await ctx.session();
    const made = await initFolder({
      folder: ctx.io.cwd(),
      given: { name: positionals.name ?? flags.name, slug: flags.slug, tenant: ctx.globals.tenant },
      baseUrl,
      to: flags.print ? 'nowhere' : flags.force ? 'new_or_existing' : 'new',
    });
    const { path, created, manifest, evidence } = made;
    if (created)
      ctx.note(`Look it over, then: svc apps create --from-file ${path.slice(path.lastIndexOf('/') + 1)}`);
    return {
      value: { path, created, manifest, evidence },
      text: () => (created ? summary(made) : made.text),
    };
  },
  examples: [
    { line: 'svc init', does: 'A svc.yaml with what the folder tells' },
    { line: "svc init 'Web shop' --slug shop", does: 'With a name and a slug of your own' },
    { line: 'svc init --print', does: 'What it would be; nothing is written' },
  ],
});

function summary({
  path,
  evidence,
}: {
  path: string;
  evidence: { key: string; value: string; because: string }[];
}) {
  const lines = evidence.map(({ key, value, because }) => `  ${key}: ${plain(value)} (${because})\n`);
  return [`${path} is written.\n`, ...lines].join('');
}
