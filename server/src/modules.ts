import { access } from './access/module.ts';
import { apps } from './apps/module.ts';
import type { Events } from './core/events.ts';
import type { Job } from './core/jobs.ts';
import { retireGenerations } from './core/key-rotation.ts';
import { type Key, openKeyRing, prepareKeys } from './core/keys.ts';
import { data } from './data/module.ts';
import { delivery } from './delivery/module.ts';
import { edge } from './edge/module.ts';
import type { Deps, EventDeps, Module } from './http/module.ts';
import { urlSigningKey } from './http/signed-url.ts';
import { identity } from './identity/module.ts';
import { people } from './people/module.ts';

/** In order: a module uses only those before it. */
export const modules: readonly Module[] = [people, access, apps, identity, data, delivery, edge];

export function collectEvents(deps: EventDeps, from: readonly Module[] = modules): Events {
  return from.flatMap((module) => module.subscriptions?.(deps) ?? []);
}

export const keys: readonly Key[] = [urlSigningKey, ...modules.flatMap((module) => module.keys ?? [])];

/** Opens the keys before the modules, which follow theirs. */
export async function openKeys(
  deps: Parameters<typeof openKeyRing>[0] & Pick<Deps, 'onStop'>,
): Promise<Pick<Deps, 'keys' | 'urlKey'>> {
  await prepareKeys(deps.db, keys);
  const ring = openKeyRing(deps);
  deps.onStop(ring.stop);
  return { keys: ring, urlKey: await ring.follow(urlSigningKey) };
}

export const retireKeysJob = (deps: () => Parameters<typeof retireGenerations>[0]): Job => ({
  name: 'keys.retire',
  cron: '* * * * *',
  run: () => retireGenerations(deps(), keys),
});
