import { peopleIdsMax } from '@svc/contract/rows.ts';
import { readJson } from './read-json.ts';
import type { Transport } from './transport.ts';

export interface NamedPerson {
  id: string;
  name: string;
  /** Null unless the app has the data scope `people:email`, or it is one's own. */
  email: string | null;
}

export type FindPeople = (ids: Iterable<string | null | undefined>) => Promise<Map<string, NamedPerson>>;

const cachedMs = 60_000;
const cachedMax = 10_000;

interface Cached {
  until: number;
  person: Promise<NamedPerson | null>;
}

/** Calls of the same moment share requests; names are cached for a minute. */
export function createPeople({ transport, path }: { transport: Transport; path: string }): FindPeople {
  const cache = new Map<string, Cached>();
  let queue: { ids: string[]; answer: Promise<Map<string, NamedPerson>> } | null = null;

  return async (ids) => {
    const distinctIds = new Set<string>();
    for (const id of ids) if (id) distinctIds.add(id.toLowerCase());
    const found = await Promise.all([...distinctIds].map(find));
    return new Map(found.flatMap((person) => (person ? [[person.id, person] as const] : [])));
  };

  function find(id: string): Promise<NamedPerson | null> {
    const cached = cache.get(id);
    if (cached && cached.until > Date.now()) return cached.person;
    if (cache.size >= cachedMax) cache.clear();
    const person = request(id);
    cache.set(id, { until: Date.now() + cachedMs, person });
    person.catch(() => cache.delete(id));
    return person;
  }

  async function request(id: string): Promise<NamedPerson | null> {
    if (!queue || queue.ids.length >= peopleIdsMax) {
      const ids: string[] = [];
      queue = { ids, answer: Promise.resolve().then(() => send(ids)) };
    }
    queue.ids.push(id);
    return (await queue.answer).get(id) ?? null;
  }

  async function send(ids: readonly string[]): Promise<Map<string, NamedPerson>> {
    if (queue?.ids === ids) queue = null;
    const { data } = await transport.exchange(
      { method: 'GET', path, query: [['ids', ids.join(',')]], onFault: 'repeat' },
      readJson<{ data: NamedPerson[] }>,
    );
    return new Map(data.map((person) => [person.id, person]));
  }
}
