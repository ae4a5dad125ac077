import { SvcError } from './errors.ts';
import { type FeedEvent, followFeed } from './follow.ts';
import type { TableTarget } from './query.ts';
import { compareRows, type SortKey } from './sort-rows.ts';

export interface LiveChange<Row> {
  /** All rows after the change, in their order. */
  rows: readonly Row[];
  /** Empty when the rows were loaded anew. */
  changes: readonly ({ event: 'insert' | 'update'; row: Row } | { event: 'delete'; id: string | number })[];
}

interface Listeners<Row> {
  change: (change: LiveChange<Row>) => void;
  /** The feed has ended for good, such as by a right that was taken away; without an error it was closed. */
  close: (error: Error | null) => void;
}

export interface LiveQuery {
  target: TableTarget;
  query: readonly (readonly [string, string])[];
  sort: readonly string[];
  /** Under which the id is shown. */
  idKey: string;
  signal?: AbortSignal | undefined;
}

type AnyRow = Record<string, unknown>;

/**
 * Rows that follow the table. `rows` is replaced with every change and never altered, as React expects it. Lost connections are
 * opened again without losing a change.
 */
export class LiveRows<Row extends object> implements AsyncIterable<LiveChange<Row>> {
  rows: readonly Row[] = [];
  status: 'connecting' | 'live' | 'closed' = 'connecting';
  /** Resolves when the rows are there; rejects if the feed cannot be opened. */
  readonly ready: Promise<void>;
  readonly #listeners = {
    change: new Set<Listeners<Row>['change']>(),
    close: new Set<Listeners<Row>['close']>(),
  };
  readonly #stop = new AbortController();
  readonly #query: LiveQuery;
  readonly #byId = new Map<string, AnyRow>();
  #becomeReady: () => void = () => {};
  #failReady: (error: unknown) => void = () => {};
  #compare: (one: AnyRow, other: AnyRow) => number = () => 0;

  constructor(query: LiveQuery) {
    this.#query = query;
    this.ready = new Promise((resolve, reject) => {
      this.#becomeReady = resolve;
      this.#failReady = reject;
    });
    // A caller that only listens to events does not await this promise.
    this.ready.catch(() => {});
    query.signal?.addEventListener('abort', () => this.close());
    void this.#run().then(
      () => this.#end(null),
      (error: unknown) => this.#end(error instanceof Error ? error : new Error(String(error))),
    );
  }

  /** Returns how to stop listening. */
  on<Name extends keyof Listeners<Row>>(name: Name, listener: Listeners<Row>[Name]): () => void {
    const listeners = this.#listeners[name] as Set<Listeners<Row>[Name]>;
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }

  close(): void {
    this.#stop.abort();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<LiveChange<Row>, void, undefined> {
    const queue: LiveChange<Row>[] = this.status === 'live' ? [{ rows: this.rows, changes: [] }] : [];
    let wake = () => {};
    let ended: { error: Error | null } | null = this.status === 'closed' ? { error: null } : null;
    const off = [
      this.on('change', (change) => {
        queue.push(change);
        wake();
      }),
      this.on('close', (error) => {
        ended = { error };
        wake();
      }),
    ];
    try {
      for (;;) {
        const next = queue.shift();
        if (next) yield next;
        else if (ended) break;
        else await new Promise<void>((resolve) => (wake = resolve));
      }
      if (ended?.error) throw ended.error;
    } finally {
      for (const stop of off) stop();
    }
  }

  async #run(): Promise<void> {
    const { target, query } = this.#query;
    const feed = followFeed({
      signal: this.#stop.signal,
      open: (headers, signal) =>
        target.transport.exchange(
          {
            method: 'GET',
            path: `${target.path}/_changes`,
            query: [...query, ['_snapshot', 'true']],
            headers,
            onFault: 'give_up',
            isStream: true,
            signal,
          },
          async (response) => response,
        ),
      isFinal: (error) => error instanceof SvcError && error.status < 500 && error.status !== 429,
    });
    for await (const events of feed) this.#apply(events);
  }

  #apply(events: readonly FeedEvent[]): void {
    const changes: LiveChange<Row>['changes'][number][] = [];
    let [isLoaded, isChanged] = [false, false];
    for (const { event, data } of events) {
      const parsed = JSON.parse(data);
      const id = String(parsed[this.#query.idKey]);
      if (event === 'ready') {
        if (this.status !== 'live') isLoaded = true;
        this.#compare = compareRows(this.#sortKeys(), parsed.types ?? {});
        this.status = 'live';
      } else if (event === 'reset') {
        this.#byId.clear();
        this.status = 'connecting';
      } else {
        isChanged = true;
        if (event === 'delete') this.#byId.delete(id);
        else this.#byId.set(id, parsed);
        if (event === 'delete') changes.push({ event, id: parsed[this.#query.idKey] });
        else if (event !== 'row') changes.push({ event, row: parsed });
      }
    }
    if (this.status !== 'live' || (!isLoaded && !isChanged)) return;
    this.rows = [...this.#byId.values()].sort(this.#compare) as Row[];
    if (isLoaded) this.#becomeReady();
    const change = { rows: this.rows, changes: isLoaded ? [] : changes };
    for (const listener of this.#listeners.change) listener(change);
  }

  #sortKeys(): SortKey[] {
    const { sort, idKey } = this.#query;
    const keys = sort.map((key) => ({ name: key.replace(/^-/, ''), descending: key.startsWith('-') }));
    return keys.some(({ name }) => name === idKey)
      ? keys
      : [...keys, { name: idKey, descending: keys.at(-1)?.descending ?? false }];
  }

  #end(error: Error | null): void {
    this.status = 'closed';
    this.#failReady(error ?? new Error('The feed was closed.'));
    for (const listener of this.#listeners.close) listener(error);
  }
}
