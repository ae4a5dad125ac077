import { defineCommand } from '../define-command.ts';

export default defineCommand({
  words: 'logout',
  summary: 'End the login of the profile, here and on the server',
  kind: 'local',
  output: {
    type: 'object',
    properties: {
      profile: { type: 'string' },
      logged_out: { type: 'boolean' },
      revoked: { type: 'boolean' },
    },
    required: ['profile', 'logged_out', 'revoked'],
  },
  run: async (ctx) => (await import('../logout.ts')).logout(ctx),
  examples: [{ line: 'svc logout', does: 'Forget the login of the current profile' }],
});
