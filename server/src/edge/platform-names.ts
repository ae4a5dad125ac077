import { isIPv4 } from 'node:net';

/**
 * The names that the platform itself answers at: its own, those that the operator lists, and what can be no site's, that
 * is names without a dot and addresses. A host that was a site's yesterday must not show sign-in and API today.
 */
export function createPlatformNames(options: {
  baseUrl: string;
  extraHosts: readonly string[];
  appsDomain: string;
}): (host: string) => boolean {
  const names = new Set([new URL(options.baseUrl).hostname, ...options.extraHosts]);
  return (host) =>
    names.has(host) ||
    (host !== options.appsDomain && (!host.includes('.') || host.startsWith('[') || isIPv4(host)));
}
