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
import { CliError, usageError } from '../framework/errors.ts';
import { manifestDefaults } from '../manifest/defaults.ts';
import { AdvisedProblemError } from '../session/problems.ts';
import { resolveTenant } from '../session/tenant.ts';
import { didYouMean, type Target } from './target.ts';

/** URLs contain slugs, even if ids were typed, so that they are readable and stable. */
export async function resolveUrl(ctx: Ctx, target: Target): Promise<string> {
  const { baseUrl } = await ctx.session();
  switch (target.kind) {
    case 'console':
      return baseUrl + consolePaths.home;
    case 'tenant_page': {
      const { page, id } = target;
      const { slug } = await fetchTenant(ctx, await resolveTenant(ctx));
      return baseUrl + (id === undefined || page.one === undefined ? page.path(slug) : page.one(slug, id));
    }
    case 'app_page': {
      const { page, id } = target;
      const { tenant, app } = await loadApp(ctx, target.app);
      const path =
        id === undefined || page.one === undefined
          ? page.path(tenant.slug, app.slug)
          : page.one(tenant.slug, app.slug, id);
      return baseUrl + path;
    }
    case 'app': {
      const loaded = await loadApp(ctx, target.app);
      return (await appUrl(ctx, loaded)) ?? baseUrl + consolePaths.app(loaded.tenant.slug, loaded.app.slug);
    }
    case 'git':
      return repositoryUrl(ctx, await loadApp(ctx, target.app));
    case 'staging':
      return stagingUrl(ctx, await loadApp(ctx, target.app));
  }
}

interface LoadedApp {
  tenant: Pick<Answer<NonNullable<typeof getTenant.shape>>, 'slug' | 'role'>;
  app: Answer<NonNullable<typeof getApp.shape>>;
  params: { tenantID: string; app: string };
}

async function fetchTenant(ctx: Ctx, tenantID: string): Promise<LoadedApp['tenant']> {
  return (await ctx.client()).call(getTenant, { params: { tenantID } });
}

async function loadApp(ctx: Ctx, named: string | undefined): Promise<LoadedApp> {
  const ref = named ?? (await manifestApp(ctx));
  const params = { tenantID: await resolveTenant(ctx), app: ref };
  const client = await ctx.client();
  const [tenant, app] = await Promise.all([
    fetchTenant(ctx, params.tenantID),
    client.call(getApp, { params }).catch((cause) => advise(cause, ref)),
  ]);
  return { tenant, app, params };
}

async function manifestApp(ctx: Ctx): Promise<string> {
  const found = await manifestDefaults(ctx.io);
  if (found === null)
    throw usageError(
      'No app was named, and there is no svc.yaml here.',
      'Name an app, or run svc open console.',
    );
  if (found.app === null) throw usageError(`--app is required: ${found.path} names no app.`);
  if (ctx.globals.verbose) ctx.say(`--app ${found.app} comes from ${found.path}.`);
  return found.app;
}

function advise(cause: unknown, word: string): never {
  const next = didYouMean(word);
  if (next !== undefined && cause instanceof ProblemError && cause.problem.code === 'not_found')
    throw new AdvisedProblemError(cause.problem, next);
  throw cause;
}

async function appUrl(ctx: Ctx, loaded: LoadedApp): Promise<string | null> {
  const { app } = loaded;
  if (app.record !== 'active' || app.deployment_status !== 'deployed') {
    ctx.note(`${app.slug} is not running; opening its page in the console.`);
    return null;
  }
  const url = app.url ?? (await customDomainUrl(ctx, loaded));
  if (url === null) ctx.note(`${app.slug} has no host; opening its page in the console.`);
  return url;
}

/** Only owners and tenant admins can list domains. */
async function customDomainUrl(ctx: Ctx, { tenant, app, params }: LoadedApp): Promise<string | null> {
  const mayAsk = app.relation === 'owner' || app.relation === 'co_owner' || tenant.role === 'tenant_admin';
  if (!mayAsk) return null;
  const input = { params, query: { per_page: String(perPageMax) } };
  const { items } = await (await ctx.client()).call(listDomains, input);
  return items.find(({ status }) => status === 'active')?.url ?? null;
}

async function repositoryUrl(ctx: Ctx, { app, params }: LoadedApp): Promise<string> {
  const { connection } = await (await ctx.client()).call(getGitConnection, { params });
  if (connection !== null) return connection.web_url;
  throw new CliError('nothing_to_open', `${app.slug} is not connected to a repository.`, {
    next: `Connect one with svc apps git connect --app ${app.slug}.`,
  });
}

async function stagingUrl(ctx: Ctx, { app, params }: LoadedApp): Promise<string> {
  const site = await (await ctx.client()).call(getSite, { params });
  if (site.staging_enabled && site.staging_url !== null) return site.staging_url;
  throw new CliError('nothing_to_open', `${app.slug} has no staging host.`, {
    next: `Enable one with svc apps static site staging enable --app ${app.slug}.`,
  });
}

/** URLs from outside are checked, because the program that opens them also opens files and starts programs. */
export function requireWebUrl(text: string): string {
  const url = URL.parse(text);
  const isOfTheWeb = url !== null && (url.protocol === 'http:' || url.protocol === 'https:');
  if (isOfTheWeb && url.username === '' && url.password === '') return url.href;
  throw new CliError('not_this_service', 'The server returned an invalid URL.', {
    next: 'Check SVC_BASE_URL.',
  });
}
