import { defineCommand } from '../define-command.ts';

export default defineCommand({
  words: 'schema',
  summary: 'Print the JSON Schema of what a command takes and prints',
  kind: 'local',
  positionals: [{ name: 'words', summary: 'The words of the command', repeated: true }],
  output: {
    type: 'object',
    properties: {
      command: { type: 'string' },
      input: { type: 'object' },
      output: { type: 'object' },
      preview: { type: 'object' },
    },
    required: ['command', 'input', 'output'],
  },
  run: async (ctx, { positionals }) => {
    const found = await ctx.findCommand(positionals.words);
    const { commandSchema } = await import('../schema.ts');
    const value = await commandSchema(found);
    return { value, text: () => `${JSON.stringify(value, null, 2)}\n` };
  },
  examples: [{ line: 'svc schema grants create', does: 'What grants create takes and prints' }],
});
