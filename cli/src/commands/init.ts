import { defineCommand, objectSchema } from '../command.ts';
import { sanitize } from '../framework/text.ts';

const text = { type: 'string' } as const;

export const initCommand = defineCommand({
  words: 'init',
  summary: 'Write a svc.yaml for the app in this folder',
  description:
    'Detects settings from package.json, Dockerfile, compose files, pages and the git remote; runs nothing. Commands ' +
    'in the folder and below it then need no --app.',
  kind: 'local',
  positionals: [{ name: 'name', optional: true, summary: 'Name of the app; same as --name' }],
  flags: {
    name: { type: 'string', placeholder: 'name', summary: 'Name of the app (detected)' },
    slug: { type: 'string', placeholder: 'slug', summary: 'Slug of the app (derived from the name)' },
    force: { type: 'boolean', summary: 'Replace an existing svc.yaml' },
    print: { type: 'boolean', excludes: ['force'], summary: 'Print the file instead of writing it' },
  },
  check: ({ flags, positionals }) =>
    flags.name !== undefined && positionals.name !== undefined
      ? 'The name is given twice: as <name> and as --name.'
      : undefined,
  output: objectSchema({
    path: text,
    created: { type: 'boolean', description: 'Whether the file was written; false with --print.' },
    manifest: { type: 'object', description: 'Content of the file.' },
    evidence: {
      type: 'array',
      items: objectSchema({ key: text, value: text, because: text }),
    },
  }),
  run: async (ctx, { flags, positionals }) => {
    const { initFolder } = await import('../init/init-folder.ts');
    const { baseUrl } = await ctx.session();
    const result = await initFolder({
      folder: ctx.io.cwd(),
      names: { name: positionals.name ?? flags.name, slug: flags.slug, tenant: ctx.globals.tenant },
      baseUrl,
      to: flags.print ? 'nowhere' : flags.force ? 'new_or_existing' : 'new',
    });
    const { path, created, manifest, evidence } = result;
    if (created)
      ctx.note(`Review it, then run svc apps create --from-file ${path.slice(path.lastIndexOf('/') + 1)}`);
    return {
      value: { path, created, manifest, evidence },
      text: () => (created ? summary(result) : result.text),
    };
  },
  examples: {
    '': 'Write a svc.yaml with detected settings',
    "'Web shop' --slug shop": 'With a name and a slug of your own',
    '--print': 'Preview the file',
  },
});

function summary({
  path,
  evidence,
}: {
  path: string;
  evidence: { key: string; value: string; because: string }[];
}) {
  const lines = evidence.map(({ key, value, because }) => `  ${key}: ${sanitize(value)} (${because})\n`);
  return [`Wrote ${path}.\n`, ...lines].join('');
}
