import { completionScripts, shells } from '../completion-scripts.ts';
import { defineCommand } from '../define-command.ts';

export default defineCommand({
  words: 'completion',
  summary: 'Print the completion script of a shell',
  kind: 'local',
  positionals: [{ name: 'shell', summary: 'bash, zsh or fish', values: shells }],
  output: {
    type: 'object',
    properties: { shell: { type: 'string' }, script: { type: 'string' } },
    required: ['shell', 'script'],
  },
  run: async (_ctx, { positionals }) => {
    const shell = shells.find((it) => it === positionals.shell) ?? 'bash';
    const script = completionScripts[shell];
    return { value: { shell, script }, text: () => script };
  },
  examples: [{ line: 'svc completion bash', does: 'Add eval "$(svc completion bash)" to ~/.bashrc' }],
});
