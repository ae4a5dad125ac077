import { accessLogPerPageMax, accessLogRetentionDays, listAccessLog } from '@svc/contract/access-log.ts';
import { defineCommand } from '../command.ts';
import { accessLogView } from '../views/access.ts';

export const accessLog = defineCommand({
  words: 'access log',
  summary: 'List reads of governed data, newest first: who read what',
  description:
    'For tenant admins; owners of a connector see the entries of their connector with --connector. Entries name columns and ' +
    `count rows, and never contain values. They are stored for ${accessLogRetentionDays} days.`,
  kind: 'read',
  flags: {
    user: { type: 'string', placeholder: 'user', summary: 'Only this reader, by id or e-mail address' },
    app: {
      type: 'string',
      placeholder: 'app',
      summary: 'Only reads of this app or through it, by id or slug',
    },
    connector: { type: 'string', placeholder: 'connector', summary: 'Only this connector, by id or slug' },
    path: { type: 'string', placeholder: 'path', summary: 'Only this schema or schema/table' },
    from: { type: 'time', summary: 'From this time on, RFC 3339' },
    to: { type: 'time', summary: 'Before this time, RFC 3339' },
    cursor: {
      type: 'string',
      placeholder: 'cursor',
      summary: 'Continue after next_cursor of the previous page',
    },
    'per-page': { type: 'integer', min: 1, max: accessLogPerPageMax, summary: 'Entries per page (50)' },
    all: { type: 'boolean', excludes: ['cursor'], summary: 'Fetch all pages' },
  },
  endpoint: listAccessLog,
  input: ({ flags: { user, app, connector, path, from, to, cursor } }) => ({
    query: { user, app, connector, path, from, to, cursor },
  }),
  present: async (ctx, answer) => (await import('../access/names.ts')).nameConnectors(ctx, answer),
  view: accessLogView,
  examples: {
    '--user ada@example.com': 'List what a person read',
    '--connector warehouse --path hr/people --all -o csv': 'Export who read a table',
  },
});
