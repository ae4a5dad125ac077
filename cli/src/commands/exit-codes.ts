import { exitCodes } from '@svc/contract/exit-codes.ts';
import { defineCommand } from '../define-command.ts';

export default defineCommand({
  words: 'exit-codes',
  summary: 'List what the exit codes mean',
  kind: 'local',
  output: {
    type: 'array',
    items: {
      type: 'object',
      properties: { code: { type: 'integer' }, meaning: { type: 'string' } },
      required: ['code', 'meaning'],
    },
  },
  view: { columns: ['code', 'meaning'] },
  run: async () => ({
    value: Object.entries(exitCodes).map(([code, meaning]) => ({ code: Number(code), meaning })),
  }),
  examples: [{ line: 'svc exit-codes', does: 'The table that scripts can rely on' }],
});
