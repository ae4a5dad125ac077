import type { z } from 'zod';
import type { RequestInfo } from '../../http/handlers.ts';
import { readJson } from '../../http/read-body.ts';
import type { Principal, UserPrincipal } from './authenticate.ts';
import type { GitHostDeps } from './deps.ts';
import { getTenantInstallation } from './host-store.ts';
import { type RepositoryAccess, resolveRepository } from './repositories.ts';

export interface RestCall {
  deps: GitHostDeps;
  request: Request;
  url: URL;
  info: RequestInfo;
  params: Record<string, string>;
  principal: Principal;
}

export type RestHandler = (call: RestCall) => Promise<Response>;

const bodyBytesMax = 256 * 1024;
const perPageMax = 100;
const perPageDefault = 30;

export function param(call: RestCall, name: string): string {
  return call.params[name] ?? '';
}

export function idParam(call: RestCall, name: string): number {
  const text = param(call, name);
  if (!/^[1-9]\d{0,14}$/.test(text)) throw notFoundError();
  return Number(text);
}

export function requireUser({ principal }: RestCall): UserPrincipal {
  if (principal.kind !== 'user') throw forbiddenError();
  return principal;
}

export async function requireRepository(call: RestCall): Promise<RepositoryAccess> {
  const name = { owner: param(call, 'owner'), repo: param(call, 'repo') };
  const access = await resolveRepository(call.deps, call.principal, name);
  if (!access) throw notFoundError();
  return access;
}

export async function requireReadableRepository(call: RestCall): Promise<RepositoryAccess> {
  const access = await requireRepository(call);
  if (!access.canFetch) throw forbiddenError();
  return access;
}

export async function requireWritableRepository(call: RestCall): Promise<RepositoryAccess> {
  const access = await requireRepository(call);
  if (!access.canPush) throw new GitHubError(403, 'Must have admin rights to Repository.');
  return access;
}

export async function repositoryView({ db }: GitHostDeps, { repo, owner, canPush }: RepositoryAccess) {
  const { id } = await getTenantInstallation(db, owner.id);
  return { repo, owner: { slug: owner.slug, installationId: id }, canPush };
}

export async function parseBody<T extends z.ZodType>({ request }: RestCall, shape: T, resource: string) {
  const parsed = shape.safeParse((await readJson(request, bodyBytesMax)) ?? {});
  if (parsed.success) return parsed.data;
  const errors = parsed.error.issues.map(
    ({ path, message }): ValidationItem => ({
      resource,
      field: path.join('.'),
      code: 'invalid',
      message,
    }),
  );
  throw new GitHubError(422, 'Validation Failed', errors);
}

interface PageParams {
  page: number;
  perPage: number;
}

export function pageParams({ url }: RestCall): PageParams {
  const number = (name: string, otherwise: number) => {
    const text = url.searchParams.get(name) ?? '';
    return /^[1-9]\d{0,6}$/.test(text) ? Number(text) : otherwise;
  };
  return { page: number('page', 1), perPage: Math.min(perPageMax, number('per_page', perPageDefault)) };
}

export function pageLinks(
  { url }: RestCall,
  { page, perPage }: PageParams,
  total: number,
): Record<string, string> {
  const last = Math.max(1, Math.ceil(total / perPage));
  const to = (number: number, rel: string) => {
    const target = new URL(url);
    target.searchParams.set('page', String(number));
    target.searchParams.set('per_page', String(perPage));
    return `<${target.href}>; rel="${rel}"`;
  };
  const links = [
    ...(page > 1 ? [to(page - 1, 'prev')] : []),
    ...(page < last ? [to(page + 1, 'next'), to(last, 'last')] : []),
    ...(page > 1 ? [to(1, 'first')] : []),
  ];
  return links.length === 0 ? {} : { link: links.join(', ') };
}

export class GitHubError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly errors?: readonly ValidationItem[],
  ) {
    super(message);
    this.name = 'GitHubError';
  }
}

interface ValidationItem {
  resource: string;
  field: string;
  code: 'missing' | 'missing_field' | 'invalid' | 'already_exists' | 'custom';
  message?: string;
}

export function notFoundError(): GitHubError {
  return new GitHubError(404, 'Not Found');
}

export function forbiddenError(): GitHubError {
  return new GitHubError(403, 'Resource not accessible by integration');
}

export function validationError(...errors: ValidationItem[]): GitHubError {
  return new GitHubError(422, 'Validation Failed', errors);
}

const defaultHeaders = { 'cache-control': 'no-store', 'x-github-media-type': 'github.v3; format=json' };
const documentationUrl = 'https://docs.github.com/rest';

export function githubResponse(
  body: unknown,
  init: { status?: number; headers?: Record<string, string> } = {},
) {
  return Response.json(body, { status: init.status ?? 200, headers: { ...defaultHeaders, ...init.headers } });
}

export function errorResponse({ status, message, errors }: GitHubError): Response {
  const body = {
    message,
    ...(errors ? { errors } : {}),
    documentation_url: documentationUrl,
    status: String(status),
  };
  return githubResponse(body, { status });
}
