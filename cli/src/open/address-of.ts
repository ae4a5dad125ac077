import { getApp } from '@svc/contract/apps.ts';
import { ProblemError } from '@svc/contract/client.ts';
import { consolePaths } from '@svc/contract/console-paths.ts';
import { listDomains } from '@svc/contract/domains.ts';
import type { Answer } from '@svc/contract/endpoint.ts';
import { getGitConnection } from '@svc/contract/git-connections.ts';
import { perPageMax } from '@svc/contract/limits.ts';
import { getSite } from '@svc/contract/static-sites.ts';
import { getTenant } from '@svc/contract/tenants.ts';
import type { Ctx } from '../context.ts';
import { AdvisedProblem, CliError, usage } from '../errors.ts';
import { manifestDefaults } from '../manifest-defaults.ts';
import { resolveTenant } from '../tenant.ts';
import { didYouMean, type Target } from './read-target.ts';

/** Where it is. Addresses are made of slugs, however things were named, so that they read well and stay the same. */
export async function addressOf(ctx: Ctx, target: Target): Promise<string> {
  const { baseUrl } = await ctx.session();
  if (target.kind === 'console') return baseUrl + consolePaths.home;
  if (target.kind === 'tenant_page') {
    const { page, id } = target;
    const { slug } = await tenantOf(ctx, await resolveTenant(ctx));
    return baseUrl + (id === undefined || page.one === undefined ? page.path(slug) : page.one(slug, id));
  }
  const place = await appPlace(ctx, target.app);
  const { tenant, app } = place;
  switch (target.kind) {
    case 'app_page': {
      const { page, id } = target;
      const path =
        id === undefined || page.one === undefined
          ? page.path(tenant.slug, app.slug)
          : page.one(tenant.slug, app.slug, id);
      return baseUrl + path;
    }
    case 'app':
      return (await ownAddress(ctx, place)) ?? baseUrl + consolePaths.app(tenant.slug, app.slug);
    case 'git':
      return repositoryAddress(ctx, place);
    case 'staging':
      return stagingAddress(ctx, place);
  }
}

interface AppPlace {
  tenant: Pick<Answer<NonNullable<typeof getTenant.shape>>, 'slug' | 'role'>;
  app: Answer<NonNullable<typeof getApp.shape>>;
  params: { tenantID: string; app: string };
}

async function tenantOf(ctx: Ctx, tenantID: string): Promise<AppPlace['tenant']> {
  return (await ctx.client()).call(getTenant, { params: { tenantID } }, { signal: ctx.signal });
}

async function appPlace(ctx: Ctx, named: string | undefined): Promise<AppPlace> {
  const ref = named ?? (await appOfFolder(ctx));
  const params = { tenantID: await resolveTenant(ctx), app: ref };
  const client = await ctx.client();
  const [tenant, app] = await Promise.all([
    tenantOf(ctx, params.tenantID),
    client.call(getApp, { params }, { signal: ctx.signal }).catch((cause) => advise(cause, ref)),
  ]);
  return { tenant, app, params };
}

async function appOfFolder(ctx: Ctx): Promise<string> {
  const found = await manifestDefaults(ctx.io);
  if (found === null)
    throw usage('Which app? There is no svc.yaml here.', 'Name one, or run svc open console.');
  if (found.app === null) throw usage(`--app must be given: ${found.path} names no app.`);
  if (ctx.globals.verbose) ctx.note(`--app ${found.app} comes from ${found.path}.`);
  return found.app;
}

/** A word that is nearly a page was hardly meant as an app. */
function advise(cause: unknown, word: string): never {
  const next = didYouMean(word);
  if (next !== undefined && cause instanceof ProblemError && cause.problem.code === 'not_found')
    throw new AdvisedProblem(cause.problem, next);
  throw cause;
}

/** Null where nothing would answer; the console says why. */
async function ownAddress(ctx: Ctx, place: AppPlace): Promise<string | null> {
  const { app } = place;
  if (app.record !== 'active' || app.deployment_status !== 'deployed') {
    ctx.note(`${app.slug} does not run anywhere: this is its page in the console.`);
    return null;
  }
  const url = app.url ?? (await customAddress(ctx, place));
  if (url === null) ctx.note(`${app.slug} has no host of its own: this is its page in the console.`);
  return url;
}

/** Who neither owns nor governs the app is not told its domains. */
async function customAddress(ctx: Ctx, { tenant, app, params }: AppPlace): Promise<string | null> {
  const mayAsk = app.relation === 'owner' || app.relation === 'co_owner' || tenant.role === 'tenant_admin';
  if (!mayAsk) return null;
  const input = { params, query: { per_page: String(perPageMax) } };
  const { items } = await (await ctx.client()).call(listDomains, input, { signal: ctx.signal });
  return items.find(({ status }) => status === 'active')?.url ?? null;
}

async function repositoryAddress(ctx: Ctx, { app, params }: AppPlace): Promise<string> {
  const { connection } = await (await ctx.client()).call(
    getGitConnection,
    { params },
    { signal: ctx.signal },
  );
  if (connection !== null) return connection.web_url;
  throw new CliError('nothing_to_open', `${app.slug} is not connected to a repository.`, {
    next: `Connect one with svc apps git connect --app ${app.slug}.`,
  });
}

async function stagingAddress(ctx: Ctx, { app, params }: AppPlace): Promise<string> {
  const site = await (await ctx.client()).call(getSite, { params }, { signal: ctx.signal });
  if (site.staging_enabled && site.staging_url !== null) return site.staging_url;
  throw new CliError('nothing_to_open', `${app.slug} has no staging host.`, {
    next: `Have one with svc apps static site staging enable --app ${app.slug}.`,
  });
}
