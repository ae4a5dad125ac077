import { cookieOf } from '../identity/presented-credential.ts';
import type { EdgeRequest } from '../plumbing/edge-request.ts';

/** The prefix makes browsers keep it for this very host: no other site can set it, and none is sent it. */
export const visitCookie = '__Host-svc_site';
/** Ties the way back from the sign-in to the browser that set out. */
export const stateCookie = '__Host-svc_site_state';
export const stateSecondsMax = 600;

const attributes = 'Path=/; Secure; HttpOnly; SameSite=Lax';
/** 32 random bytes in base64url. */
export const secretPattern = /^[\w-]{43}$/;

export function secretIn(request: Pick<EdgeRequest, 'header'>, name: string): string | null {
  const value = cookieOf(request.header('cookie') ?? '', name);
  return value !== null && secretPattern.test(value) ? value : null;
}

export function setCookie(name: string, value: string, seconds: number): string {
  return `${name}=${value}; Max-Age=${seconds}; ${attributes}`;
}

export function dropCookie(name: string): string {
  return `${name}=; Max-Age=0; ${attributes}`;
}

/** Browsers take such cookies by TLS, and from this very machine. */
export function takesCookies(origin: string): boolean {
  const url = URL.parse(origin);
  return url?.protocol === 'https:' || /(?:^|\.)localhost$/.test(url?.hostname ?? '');
}
