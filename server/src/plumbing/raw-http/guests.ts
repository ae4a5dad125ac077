import type { Logger } from 'pino';
import type { TrustedProxies } from '../client-address.ts';
import type { Clock } from './clock.ts';

export interface Guest {
  /** The second since when it has been owed nothing; null: it is owed something. */
  readonly idleSince: number | null;
  terminate(): void;
}

export interface GuestLimits {
  connectionsMax: number;
  /** Proxies that are trusted stand for many, and have none. */
  perAddressMax: number;
}

export const guestLimits: GuestLimits = { connectionsMax: 10_000, perAddressMax: 1_000 };

/** Room is made for several at once: to find those who go, all are looked at. */
const sparedPart = 100;
const toldSecondsMin = 60;

interface Place {
  network: string;
  count: number;
  /** The second in which nobody of it could be spared; it is not looked at again in the same one. */
  crowdedAt: number;
}

export interface Guests<G extends Guest> extends Iterable<G> {
  /** False: there is no room. */
  add(guest: G, address: string): boolean;
  remove(guest: G): void;
}

/** All who are connected. Who has been idle for longest makes room, first among those of the same address. */
export function createGuests<G extends Guest>({
  limits,
  clock,
  trustedProxies,
  log,
}: {
  limits: GuestLimits;
  clock: Pick<Clock, 'second'>;
  trustedProxies: TrustedProxies;
  log: Logger;
}): Guests<G> {
  const places = new Map<G, Place>();
  const byNetwork = new Map<string, Place>();
  const all: Place = { network: '', count: 0, crowdedAt: -1 };
  let toldAt = -toldSecondsMin;

  function remove(guest: G): void {
    const place = places.get(guest);
    if (!places.delete(guest) || !place) return;
    all.count--;
    if (--place.count === 0) byNetwork.delete(place.network);
  }

  function hasRoom(place: Place, max: number, address: string): boolean {
    if (place.count < max) return true;
    if (place.crowdedAt === clock.second) return false;
    const idle = [...places].flatMap(([guest, its]) => {
      const since = place === all || its === place ? guest.idleSince : null;
      return since === null ? [] : [{ guest, since }];
    });
    const spared = idle.sort((a, b) => a.since - b.since).slice(0, Math.ceil(max / sparedPart));
    for (const { guest } of spared) {
      remove(guest);
      guest.terminate();
    }
    if (spared.length === 0) place.crowdedAt = clock.second;
    tell({ address, connections: place.count, of: place === all ? 'all' : 'one address' });
    return spared.length > 0;
  }

  function tell(line: { address: string; connections: number; of: string }): void {
    if (clock.second - toldAt < toldSecondsMin) return;
    toldAt = clock.second;
    log.warn(line, 'too many connections: idle ones are dropped, then new ones refused');
  }

  return {
    add(guest, address) {
      const network = networkOf(address);
      const place = byNetwork.get(network) ?? { network, count: 0, crowdedAt: -1 };
      const max = trustedProxies.includes(address) ? Number.POSITIVE_INFINITY : limits.perAddressMax;
      if (!hasRoom(place, max, address) || !hasRoom(all, limits.connectionsMax, address)) return false;
      places.set(guest, place);
      byNetwork.set(network, place);
      place.count++;
      all.count++;
      return true;
    },
    remove,
    [Symbol.iterator]: () => places.keys(),
  };
}

/** Of IPv6 the half that a provider gives away: its owner has all addresses in it. */
function networkOf(address: string): string {
  if (!address.includes(':') || address.startsWith('::ffff:')) return address;
  const [before = [], after = []] = address
    .split('::')
    .map((part) => part.split(':').filter((it) => it !== ''));
  const zeros = Array.from({ length: Math.max(0, 8 - before.length - after.length) }, () => '0');
  return [...before, ...zeros, ...after].slice(0, 4).join(':');
}
