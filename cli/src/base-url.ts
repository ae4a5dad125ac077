import { usage } from './errors.ts';

/** Without the trailing slash. `from` says whose value it is, for the message. */
export function parseBaseUrl(text: string, from: string): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw usage(
      `${from} must be an http or https address, such as http://localhost:4400; it is ${JSON.stringify(text)}.`,
    );
  }
  if (url.username !== '' || url.password !== '')
    throw usage(`${from} must not hold a user name or password.`);
  return url.origin + url.pathname.replace(/\/+$/, '');
}

/** Whether two addresses are the same server: same origin, where all names of this machine count as one. */
export function sameServer(a: string, b: string): boolean {
  return canonicalOrigin(a) === canonicalOrigin(b);
}

function canonicalOrigin(text: string): string | null {
  const url = URL.parse(text);
  if (url === null) return null;
  const host = isLoopback(url.hostname) ? 'localhost' : url.hostname;
  return `${url.protocol}//${host}:${url.port}`;
}

export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(hostname);
}
