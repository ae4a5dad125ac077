import { access } from './access/module.ts';
import { apps } from './apps/module.ts';
import type { Events } from './core/events.ts';
import type { Key } from './core/keys.ts';
import { data } from './data/module.ts';
import { delivery } from './delivery/module.ts';
import { edge } from './edge/module.ts';
import type { EventDeps, Module } from './http/module.ts';
import { urlSigningKey } from './http/signed-url.ts';
import { identity } from './identity/module.ts';
import { people } from './people/module.ts';

/** In order: a module uses only those before it. */
export const modules: readonly Module[] = [people, access, apps, identity, data, delivery, edge];

export function collectEvents(deps: EventDeps, from: readonly Module[] = modules): Events {
  return from.flatMap((module) => module.subscriptions?.(deps) ?? []);
}

export const keys: readonly Key[] = [urlSigningKey, ...modules.flatMap((module) => module.keys ?? [])];
