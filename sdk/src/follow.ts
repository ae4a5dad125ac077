import { changesHeartbeatSeconds, eventStreamMediaType } from '@svc/contract/rows.ts';
import { backoffMs } from './rows.ts';

export interface FeedEvent {
  event: 'row' | 'ready' | 'insert' | 'update' | 'delete' | 'reset';
  /** Where a feed can be resumed; rows of the snapshot have none. */
  id: string | null;
  /** JSON. */
  data: string;
}

export interface FollowOptions {
  open(headers: Record<string, string>, signal: AbortSignal): Promise<Response>;
  signal: AbortSignal;
  /** Whether opening again cannot help. */
  isFinal(error: unknown): boolean;
  lastEventId?: string | undefined;
}

const firstPauseMs = 200;
const pauseMsMax = 10_000;
/** Two heartbeats are missing: the network has dropped the connection silently. */
const silentMsMax = 2.5 * changesHeartbeatSeconds * 1000;

/**
 * The events of a change feed, as many at a time as have arrived. A lost connection is opened again after the last event, until
 * the signal is aborted.
 */
export async function* followFeed(options: FollowOptions): AsyncGenerator<FeedEvent[], void, undefined> {
  let lastEventId = options.lastEventId ?? null;
  let hasPart = false;
  for (let failures = 0; !options.signal.aborted; failures++) {
    const connection = new AbortController();
    const stop = () => connection.abort(options.signal.reason);
    options.signal.addEventListener('abort', stop);
    try {
      const headers: Record<string, string> = { accept: eventStreamMediaType };
      if (lastEventId !== null) headers['last-event-id'] = lastEventId;
      const response = await options.open(headers, connection.signal);
      // The rows were interrupted, and begin anew.
      if (lastEventId === null && hasPart) yield [{ event: 'reset', id: null, data: '{}' }];
      for await (const { events, id } of readEvents(response, connection)) {
        failures = 0;
        lastEventId = id ?? lastEventId;
        hasPart ||= events.length > 0;
        if (events.length > 0) yield events;
      }
    } catch (error) {
      if (options.signal.aborted) return;
      if (options.isFinal(error)) throw error;
    } finally {
      options.signal.removeEventListener('abort', stop);
      connection.abort();
    }
    await pause(backoffMs(failures, firstPauseMs, pauseMsMax) * (0.5 + Math.random()), options.signal);
  }
}

/** https://html.spec.whatwg.org/multipage/server-sent-events.html, as far as the server uses it. */
async function* readEvents({ body }: Response, connection: AbortController) {
  const decoder = new TextDecoder();
  const reader = (body ?? new Blob([]).stream()).getReader();
  let rest = '';
  for (;;) {
    const timer = setTimeout(() => connection.abort(), silentMsMax);
    const { done, value } = await reader.read().finally(() => clearTimeout(timer));
    if (done) return;
    const blocks = (rest + decoder.decode(value, { stream: true })).split('\n\n');
    rest = blocks.pop() ?? '';
    const events: FeedEvent[] = [];
    let id: string | null = null;
    for (const block of blocks) {
      const fields = new Map(block.split('\n').map(parseField));
      id = fields.get('id') ?? id;
      const data = fields.get('data');
      if (data === undefined) continue;
      events.push({ event: fields.get('event') as FeedEvent['event'], id: fields.get('id') ?? null, data });
    }
    yield { events, id };
  }
}

function parseField(line: string): [name: string, value: string] {
  const colon = line.indexOf(':');
  return colon < 0 ? [line, ''] : [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, '')];
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end);
  });
}
