import type { Authority } from '@svc/contract/endpoint.ts';
import { type AppAccess, type Caller, satisfiesRelation, type TenantAccess } from '../core/context.ts';
import { fail } from '../core/problem.ts';

export interface AccessDeps {
  authenticate: (request: Request) => Promise<Caller | null>;
  tenantAccess: (ref: string, caller: Caller) => Promise<TenantAccess | null>;
  appAccess: (tenant: TenantAccess, ref: string, caller: Caller) => Promise<AppAccess | null>;
}

export interface Authorized {
  caller: Caller;
  tenant?: TenantAccess;
  app?: AppAccess;
}

export async function authorize(
  deps: AccessDeps,
  authority: Authority,
  params: Record<string, string>,
  request: Request,
): Promise<Authorized> {
  const caller = await authenticateCaller(deps, authority, request);
  const { role, outsider } = authority;
  if (!role) return { caller };
  const tenant = await deps.tenantAccess(params.tenantID ?? '', caller);
  // A token is valid in its own tenant only, also where its issuer is a member of others.
  if (!tenant || (caller.scope && caller.scope.tenantId !== tenant.id)) throw fail(outsider ?? 'not_found');
  if (role === 'tenant_admin' && tenant.role !== 'tenant_admin') throw fail('forbidden');
  if (!authority.app) return { caller, tenant };
  const app = await deps.appAccess(tenant, params.app ?? '', caller);
  if (!app || (app.record === 'deleted' && !authority.deletedApp)) throw fail('not_found');
  const onlyApps = caller.scope?.apps ?? [];
  if (onlyApps.length > 0 && !onlyApps.includes(app.id)) throw fail('not_found');
  if (!satisfiesRelation(authority.app, app, tenant)) throw fail('forbidden');
  return { caller, tenant, app };
}

export async function authenticateCaller(
  deps: AccessDeps,
  authority: Authority,
  request: Request,
): Promise<Caller> {
  const caller = await deps.authenticate(request);
  if (!caller) throw fail('unauthenticated');
  const isToken = caller.kind === 'pat' || caller.scope !== undefined;
  if (!isToken || authority.credential === 'login_or_pat') return caller;
  const required = authority.token ?? (caller.ownApp && authority.account);
  if (required === undefined) throw fail('login_required');
  if (!caller.scope?.actions.includes(required))
    throw fail('forbidden', { detail: `The token does not have the action ${required}.` });
  return caller;
}
