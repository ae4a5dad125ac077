import { listAppAuditEntries, listAuditEntries } from '@svc/contract/tenants.ts';
import { callText } from '../../call-text.ts';
import { defineCommand } from '../../define-command.ts';
import { pageFlags } from '../../page-flags.ts';

export default defineCommand({
  words: 'audit list',
  summary: 'List what was changed in the tenant, or of one app, newest first',
  description: "That of the tenant is for its admins, that of an app for the app's owners too.",
  kind: 'read',
  flags: {
    app: { type: 'string', placeholder: 'app', summary: 'Only what was changed of this app, by id or slug' },
    action: { type: 'string', placeholder: 'action', summary: 'Only this action, such as grants.revoke' },
    target: { type: 'string', placeholder: 'id', summary: 'Only changes of the thing with this id' },
    cursor: {
      type: 'string',
      placeholder: 'cursor',
      summary: 'Continue after next_cursor of the page before',
    },
    'per-page': pageFlags['per-page'],
    all: { type: 'boolean', excludes: ['cursor'], summary: 'Every page' },
  },
  calls: `${callText(listAuditEntries)}, or with --app ${callText(listAppAuditEntries)}`,
  run: async (ctx, { flags }) => {
    const { listEntries } = await import('../../audit/list-entries.ts');
    const { app, action, target: target_id, cursor, 'per-page': per_page } = flags;
    const pages = flags.all ? 'all' : 'one';
    const value = await listEntries(ctx, { app, query: { action, target_id, cursor, per_page }, pages });
    return { value };
  },
  output: async () => (await import('../../audit/audit-schema.ts')).auditSchema(),
  view: { columns: ['seq', 'at', 'actor.name', 'action', 'target.kind', 'target.name', 'request_id'] },
  examples: [
    { line: 'svc audit list --action grants.revoke', does: 'Who revoked grants' },
    { line: 'svc audit list --app pet-shop', does: 'Who changed what of an app' },
  ],
});
