import type { Course, ProxyShared } from './create-proxy.ts';

/**
 * One that something listens at, each in its turn. Where none is left the app is looked up anew: it may have moved
 * since. Null: it starts, or nothing of it can be reached.
 */
export async function pickAddress(
  shared: ProxyShared,
  { app, again, whole }: Pick<Course, 'app' | 'again' | 'whole'>,
): Promise<string | null> {
  // What a body has begun with can not be said again elsewhere.
  const how = whole.request.body === null ? 'lately' : 'now';
  const first = await firstReachable(shared, app.addresses, how);
  if (first !== null) return first;
  const now = (await again())?.app?.addresses ?? [];
  const isSame = now.length > 0 && now.every((address) => app.addresses.includes(address));
  return isSame ? null : firstReachable(shared, now, how);
}

async function firstReachable(
  shared: ProxyShared,
  addresses: readonly string[],
  how: 'lately' | 'now',
): Promise<string | null> {
  const start = shared.turn++;
  for (let tried = 0; tried < addresses.length; tried++) {
    const address = addresses[(start + tried) % addresses.length];
    if (address !== undefined && (await shared.reachable.check(address, how))) return address;
  }
  return null;
}
