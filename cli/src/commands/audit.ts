import { listAppAuditEntries, listAuditEntries } from '@svc/contract/tenants.ts';
import { defineCommand, describeCall } from '../command.ts';
import { pageFlags } from '../inputs/common.ts';

export const auditList = defineCommand({
  words: 'audit list',
  summary: 'List changes in the tenant or of one app, newest first',
  description: "The tenant's log is for its admins; an app's log is also for its owners.",
  kind: 'read',
  flags: {
    app: { type: 'string', placeholder: 'app', summary: 'Only changes of this app, by id or slug' },
    action: { type: 'string', placeholder: 'action', summary: 'Only this action, such as grants.revoke' },
    target: { type: 'string', placeholder: 'id', summary: 'Only changes of the object with this id' },
    cursor: {
      type: 'string',
      placeholder: 'cursor',
      summary: 'Continue after next_cursor of the previous page',
    },
    'per-page': pageFlags['per-page'],
    all: { type: 'boolean', excludes: ['cursor'], summary: 'Fetch all pages' },
  },
  calls: `${describeCall(listAuditEntries)}, or with --app ${describeCall(listAppAuditEntries)}`,
  run: async (ctx, { flags }) => {
    const [{ fetchPages }, { resolveTenant }] = await Promise.all([
      import('../session/pages.ts'),
      import('../session/tenant.ts'),
    ]);
    const { app, action, target: target_id, cursor, 'per-page': per_page } = flags;
    const query = { action, target_id, cursor, per_page };
    const pages = flags.all ? 'all' : 'one';
    const tenantID = await resolveTenant(ctx);
    const value =
      app === undefined
        ? await fetchPages(ctx, { endpoint: listAuditEntries, input: { params: { tenantID }, query }, pages })
        : await fetchPages(ctx, {
            endpoint: listAppAuditEntries,
            input: { params: { tenantID, app }, query },
            pages,
          });
    return { value };
  },
  output: async () => (await import('@svc/contract/tenants.shapes.ts')).listAuditEntries.answer,
  view: { columns: ['seq', 'at', 'actor.name', 'action', 'target.kind', 'target.name', 'request_id'] },
  examples: {
    '--action grants.revoke': 'List who revoked grants',
    '--app pet-shop': 'List who changed an app',
  },
});
