export interface Subscription {
  list: string;
  handlers: Readonly<Record<string, unknown>>;
}

export type Events = readonly Subscription[];

export type EventSource = Events | (() => Promise<Events>);

// biome-ignore lint/suspicious/noExplicitAny: each list of events declares its own context and input types.
type Handler = (ctx: any, input: any) => Promise<unknown>;

export function defineEvents<E extends Record<keyof E, Handler>>(list: string) {
  return {
    on: (handlers: Partial<E>): Subscription => ({ list, handlers }),
    async publish<K extends keyof E & string>(
      ctx: Parameters<E[K]>[0] & { events: EventSource },
      name: K,
      input: Parameters<E[K]>[1],
    ): Promise<NonNullable<Awaited<ReturnType<E[K]>>>[]> {
      // Without subscribers an app would be purged and its tables left behind: refuse instead of skipping them.
      if (!ctx.events) throw new Error(`${list}.${name} was published in a mutation without subscribers.`);
      const results: NonNullable<Awaited<ReturnType<E[K]>>>[] = [];
      const events = typeof ctx.events === 'function' ? await ctx.events() : ctx.events;
      for (const { list: of, handlers } of events) {
        if (of !== list) continue;
        const handler = handlers[name] as E[K] | undefined;
        const result = await handler?.(ctx, input);
        if (result) results.push(result as NonNullable<Awaited<ReturnType<E[K]>>>);
      }
      return results;
    },
  };
}

export interface PlanPart {
  before: Record<string, unknown>;
  after: Record<string, unknown>;
}

export function mergePlanParts(parts: readonly PlanPart[]): PlanPart {
  return {
    before: Object.assign({}, ...parts.map(({ before }) => before)),
    after: Object.assign({}, ...parts.map(({ after }) => after)),
  };
}
