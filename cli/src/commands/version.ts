import { defineCommand } from '../define-command.ts';
import { version, versionLine } from '../version.ts';

export default defineCommand({
  words: 'version',
  summary: 'Print the version of svc',
  kind: 'local',
  output: {
    type: 'object',
    properties: { version: { type: 'string' }, runtime: { type: 'string' } },
    required: ['version'],
  },
  run: async (ctx) => {
    const runtime = `bun ${Bun.version}`;
    const value = ctx.globals.verbose ? { version, runtime } : { version };
    return { value, text: () => (ctx.globals.verbose ? `${versionLine}${runtime}\n` : versionLine) };
  },
  examples: [
    { line: 'svc version', does: 'The version' },
    { line: 'svc version --verbose', does: 'With that of the runtime' },
  ],
});
