import { until } from './until.ts';

export interface FeedEvent {
  event: string;
  id: string | null;
  // biome-ignore lint/suspicious/noExplicitAny: rows are of every shape.
  data: any;
}

export type TestFeed = Awaited<ReturnType<typeof openFeed>>;

/** An own reader of the stream of events, so that tests do not depend on the SDK. */
export async function openFeed(
  url: string,
  headers: Record<string, string>,
  onEvent: (event: FeedEvent) => void = () => {},
) {
  const stop = new AbortController();
  const response = await fetch(url, { headers, signal: stop.signal });
  const events: FeedEvent[] = [];
  const comments: string[] = [];
  let lastId: string | null = null;
  let isOver = false;
  const read = async () => {
    const decoder = new TextDecoder();
    let rest = '';
    for await (const chunk of response.body ?? []) {
      const blocks = (rest + decoder.decode(chunk, { stream: true })).split('\n\n');
      rest = blocks.pop() ?? '';
      for (const block of blocks) {
        const lines = block.split('\n').map((line) => line.split(/: ?(.*)/s, 2));
        const field = (name: string) => lines.find(([key]) => key === name)?.[1] ?? null;
        const comment = field('');
        if (comment !== null) comments.push(comment);
        lastId = field('id') ?? lastId;
        const data = field('data');
        if (data === null) continue;
        const event = { event: field('event') ?? 'message', id: field('id'), data: JSON.parse(data) };
        events.push(event);
        onEvent(event);
      }
    }
  };
  const ended = read()
    .catch(() => {})
    .finally(() => {
      isOver = true;
    });
  const kinds = (kind: string) => events.filter(({ event }) => event === kind);
  return {
    status: response.status,
    events,
    /** Such as heartbeats. */
    comments,
    lastEventId: () => lastId,
    isOver: () => isOver,
    ended,
    /** Waits until an event of the kind has arrived, and returns all. */
    async has(kind: string, count = 1) {
      await until(`${count} of ${kind}`, async () => kinds(kind).length >= count);
      return kinds(kind);
    },
    cut: () => stop.abort(),
  };
}

/** The rows that somebody has who applies the events to what they had; an event that does not fit is an error. */
export function foldEvents(events: readonly FeedEvent[], rows = new Map<string, unknown>(), id = 'id') {
  const wrong: string[] = [];
  for (const { event, data } of events) {
    const key = String(data[id]);
    const isKnown = rows.has(key);
    if (event === 'reset') rows.clear();
    else if (event === 'delete') {
      if (!rows.delete(key)) wrong.push(`delete of an unknown row ${key}`);
    } else if (event !== 'ready') {
      if (isKnown === (event !== 'update'))
        wrong.push(`${event} of ${isKnown ? 'a known' : 'an unknown'} row ${key}`);
      rows.set(key, data);
    }
  }
  return { rows, wrong };
}
