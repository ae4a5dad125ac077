import type { z } from 'zod';
import type { RequestInfo } from '../plumbing/api.ts';
import { readJson } from '../plumbing/read-body.ts';
import { installationOfTenant } from './accounts-store.ts';
import type { AnsweredRepo } from './answers.ts';
import type { GitHostParts } from './git-host-parts.ts';
import { forbidden, GitHubRefusal, notFound, type ValidationItem } from './github-answer.ts';
import { type ReachedRepo, reachRepo } from './reach-repo.ts';
import type { Principal, UserPrincipal } from './who-asks.ts';

/** One question to the REST API, by somebody who is known. */
export interface RestCall {
  parts: GitHostParts;
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

/** A number of ours; anything else names nothing. */
export function idParam(call: RestCall, name: string): number {
  const text = param(call, name);
  if (!/^[1-9]\d{0,14}$/.test(text)) throw notFound();
  return Number(text);
}

export function asUser({ principal }: RestCall): UserPrincipal {
  if (principal.kind !== 'user') throw forbidden();
  return principal;
}

export async function reachedRepo(call: RestCall): Promise<ReachedRepo> {
  const name = { owner: param(call, 'owner'), repo: param(call, 'repo') };
  const reached = await reachRepo(call.parts, call.principal, name);
  if (!reached) throw notFound();
  return reached;
}

export async function readableRepo(call: RestCall): Promise<ReachedRepo> {
  const reached = await reachedRepo(call);
  if (!reached.canFetch) throw forbidden();
  return reached;
}

export async function writableRepo(call: RestCall): Promise<ReachedRepo> {
  const reached = await reachedRepo(call);
  if (!reached.canPush) throw new GitHubRefusal(403, 'Must have admin rights to Repository.');
  return reached;
}

export async function answered(
  { db }: GitHostParts,
  { repo, owner, canPush }: ReachedRepo,
): Promise<AnsweredRepo> {
  const { id } = await installationOfTenant(db, owner.id);
  return { repo, owner: { slug: owner.slug, installationId: id }, canPush };
}

export async function bodyOf<T extends z.ZodType>(
  { request }: RestCall,
  shape: T,
  resource: string,
): Promise<z.output<T>> {
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
  throw new GitHubRefusal(422, 'Validation Failed', errors);
}

export interface PageAsked {
  page: number;
  perPage: number;
}

export function pageAsked({ url }: RestCall): PageAsked {
  const number = (name: string, otherwise: number) => {
    const text = url.searchParams.get(name) ?? '';
    return /^[1-9]\d{0,6}$/.test(text) ? Number(text) : otherwise;
  };
  return { page: number('page', 1), perPage: Math.min(perPageMax, number('per_page', perPageDefault)) };
}

/** Where the other pages are (RFC 8288), at the address by which it was asked. */
export function pageLinks(
  { url }: RestCall,
  { page, perPage }: PageAsked,
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
