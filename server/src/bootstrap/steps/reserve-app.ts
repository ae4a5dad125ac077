import { createApp } from '../../apps/create-app.ts';
import { noteOrigin } from '../../apps/note-origin.ts';
import type { AppMutationCtx, TenantMutationCtx } from '../../plumbing/context.ts';
import { setSite } from '../../static-sites/set-site.ts';
import { makeDefinedTable } from '../../tables/make-defined-table.ts';
import type { Step, StepEnd } from '../step-work.ts';
import { type RunRow, updateRunRow } from '../store.ts';

/** Nothing of it is outside: the app is there with the step that says so, or neither is. */
export const reserveApp: Step = async ({ parts, run }) => {
  return (ctx) => reserveAppFor(ctx, run, parts);
};

/** Where nobody has to approve anything first, this is done with the start of the run: the name is taken at once. */
export async function reserveAppFor(
  ctx: TenantMutationCtx,
  run: Pick<RunRow, 'id' | 'tenant_id' | 'input' | 'template_id' | 'source_app_id'>,
  places: { baseUrl: string; appsDomain: string },
): Promise<StepEnd> {
  const { app: wanted, siteConfig, tables } = run.input;
  const app = await createApp(ctx, wanted);
  const { id, slug, name } = app;
  await noteOrigin(ctx, {
    tenantId: run.tenant_id,
    appId: id,
    origin: { templateId: run.template_id, forkedFromId: run.source_app_id },
  });
  const own = { id, slug, name, ownerId: app.owner_id, visibility: app.visibility } as const;
  const inApp: AppMutationCtx = { ...ctx, app: { ...own, record: 'active', relation: 'owner' } };
  for (const table of tables) await makeDefinedTable(inApp, table);
  if (siteConfig !== null) await setSite(inApp, siteConfig, places);
  await updateRunRow(ctx.db, run.tenant_id, { id: run.id, set: { app_id: id } });
  return { state: 'done', output: { appId: id }, detail: `The app ${slug} is made.` };
}
