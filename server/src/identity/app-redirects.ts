/** Where an app lives: its own host on the apps domain, with the scheme and the port of the platform. */
export function appHome(place: { baseUrl: string; appsDomain: string }, subdomain: string): string {
  const { protocol, port } = new URL(place.baseUrl);
  return `${protocol}//${subdomain}.${place.appsDomain}${port === '' ? '' : `:${port}`}/`;
}

/**
 * Whether a sign-in may lead back to the address: any path of the app's own host or, while it is being made, of this
 * very machine (RFC 8252, 7.3). Only the plain spelling counts, so that no two programs can read it differently.
 */
export function isAppRedirect(uri: string, home: string): boolean {
  const url = URL.parse(uri);
  if (!url || (url.href !== uri && url.href !== `${uri}/`)) return false;
  if (url.username !== '' || url.password !== '' || uri.includes('?') || uri.includes('#')) return false;
  return isAppOrigin(url.origin, home);
}

/** Whether pages of the origin may redeem and renew the app's tokens: those that a sign-in may lead back to. */
export function isAppOrigin(origin: string, home: string): boolean {
  return origin === URL.parse(home)?.origin || isLoopback(origin);
}

/** Any program on the machine can be behind such an address, so it says nothing of which app it is. */
export function isLoopback(address: string): boolean {
  const url = URL.parse(address);
  return url?.protocol === 'http:' && loopbackHosts.includes(url.hostname) && address.startsWith(url.origin);
}

const loopbackHosts: readonly string[] = ['localhost', '127.0.0.1', '[::1]'];
