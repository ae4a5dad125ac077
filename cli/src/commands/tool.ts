import { exitCodes } from '@svc/contract/exit-codes.ts';
import { defineCommand, objectSchema } from '../command.ts';
import { completionScripts, shells } from '../framework/completion.ts';
import { version, versionLine } from '../version.ts';

export const completionCommand = defineCommand({
  words: 'completion',
  summary: 'Print the completion script for a shell',
  kind: 'local',
  positionals: [{ name: 'shell', summary: 'bash, zsh or fish', values: shells }],
  output: objectSchema({ shell: 'string', script: 'string' }),
  run: async (_ctx, { positionals }) => {
    const shell = shells.find((it) => it === positionals.shell) ?? 'bash';
    const script = completionScripts[shell];
    return { value: { shell, script }, text: () => script };
  },
  examples: { bash: 'Add eval "$(svc completion bash)" to ~/.bashrc' },
});

export const schemaCommand = defineCommand({
  words: 'schema',
  summary: "Print the JSON Schema of a command's input and output",
  kind: 'local',
  positionals: [{ name: 'words', summary: 'Words of the command', repeated: true }],
  output: objectSchema({ command: 'string', input: 'object', output: 'object', preview: 'object' }, [
    'preview',
  ]),
  run: async (ctx, { positionals }) => {
    const found = await ctx.findCommand(positionals.words);
    const { commandSchema } = await import('../output/command-schema.ts');
    const value = await commandSchema(found);
    return { value, text: () => `${JSON.stringify(value, null, 2)}\n` };
  },
  examples: { 'grants create': 'Print the schema of grants create' },
});

export const exitCodesCommand = defineCommand({
  words: 'exit-codes',
  summary: 'List the exit codes and their meanings',
  kind: 'local',
  output: {
    type: 'array',
    items: objectSchema({ code: 'integer', meaning: 'string' }),
  },
  view: { columns: ['code', 'meaning'] },
  run: async () => ({
    value: Object.entries(exitCodes).map(([code, meaning]) => ({ code: Number(code), meaning })),
  }),
  examples: { '': 'List the exit codes' },
});

export const versionCommand = defineCommand({
  words: 'version',
  summary: 'Print the version of svc',
  kind: 'local',
  output: objectSchema({ version: 'string', runtime: 'string' }, ['runtime']),
  run: async (ctx) => {
    const runtime = `bun ${Bun.version}`;
    const value = ctx.globals.verbose ? { version, runtime } : { version };
    return { value, text: () => (ctx.globals.verbose ? `${versionLine}${runtime}\n` : versionLine) };
  },
  examples: {
    '': 'Print the version',
    '--verbose': 'Include the version of the runtime',
  },
});
