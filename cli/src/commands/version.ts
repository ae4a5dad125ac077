import { version } from '../../package.json';
import { defineCommand } from '../define-command.ts';

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
    return { value, text: () => (ctx.globals.verbose ? `svc ${version}\n${runtime}\n` : `svc ${version}\n`) };
  },
  examples: [
    { line: 'svc version', does: 'The version' },
    { line: 'svc version --verbose', does: 'With that of the runtime' },
  ],
});
