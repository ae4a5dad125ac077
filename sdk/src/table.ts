import type { Plan, Preview } from '@svc/contract/plan.ts';
import { type BatchOptions, type BatchResult, insertBatches } from './batches.ts';
import { type Scalar, toJson, toPathStep } from './encode.ts';
import { type FileValue, type UploadOptions, uploadFile } from './files.ts';
import { changeMany, type Filter, type ManyChanged, type ManyOptions } from './many-rows.ts';
import {
  type PageOptions,
  pageQuery,
  type Restored,
  type RestoredRequest,
  type RowChanges,
  readChanges,
} from './past-rows.ts';
import { type CallOptions, Query } from './query.ts';
import { readJson } from './read-json.ts';
import { type Checked, type Selected, type Selections, selectItems } from './select.ts';
import type { Call } from './transport.ts';

export type { Plan } from '@svc/contract/plan.ts';
export type { BatchOptions } from './batches.ts';

export type Id = Scalar;

export interface Found<Row> {
  row: Row;
  etag: string;
}

interface GetOptions<S> extends CallOptions {
  select?: S;
}

/** The row as it is, or what is selected. */
type Got<Row, Relations, S extends readonly unknown[]> = [S] extends [never]
  ? Row
  : Selected<Row, Relations, S[number]>;

export interface InsertOptions extends CallOptions {
  returning?: 'minimal';
  /** Makes a repeated insert return the first result, which also allows retries after network errors. */
  idempotencyKey?: string;
}

export interface UpdateOptions extends CallOptions {
  /** Fails with `precondition_failed` if the row has changed since it was read. */
  ifMatch?: string;
}

/** Rights of the caller on a table, and their reason. */
export interface OwnAccess {
  actions: ('read' | 'insert' | 'update' | 'delete' | 'export')[];
  columns: { name: string; access: 'clear' | 'masked'; mask: string | null }[];
  /** The visible rows, in words. */
  filter: string;
  because: { kind: string; id: string; name: string }[];
  /** Why nothing is visible; null if something is. */
  reason: string | null;
  /** Next step for the caller. */
  next: string | null;
}

interface DryRun {
  dryRun: true;
}

export class Table<
  Row extends object,
  Insert extends object,
  Update extends object,
  Relations = unknown,
> extends Query<Row, Row, Relations> {
  /** The caller's own access: also where the table shows nothing, with the reason. */
  access(options: CallOptions = {}): Promise<OwnAccess> {
    const path = `${this.target.path}/_access`;
    return this.#exchange(
      { method: 'GET', path, onFault: 'repeat', signal: options.signal },
      readJson<OwnAccess>,
    );
  }

  /** `get(id, { select: ['title', { author: ['name'] }] })`: with the columns and the related rows that are selected. */
  get<const S extends Selections<Row> = never>(
    id: Id,
    options: GetOptions<S & Checked<Row, Relations, S>> & { ifNoneMatch: string },
  ): Promise<Found<Got<Row, Relations, S>> | { row: null; etag: string }>;
  get<const S extends Selections<Row> = never>(
    id: Id,
    options?: GetOptions<S & Checked<Row, Relations, S>> & { ifNoneMatch?: undefined },
  ): Promise<Found<Got<Row, Relations, S>>>;
  async get(
    id: Id,
    { ifNoneMatch, select, signal }: GetOptions<Selections<Row>> & { ifNoneMatch?: string } = {},
  ): Promise<Found<unknown> | { row: null; etag: string }> {
    const headers: Record<string, string> = ifNoneMatch === undefined ? {} : { 'if-none-match': ifNoneMatch };
    const query: Call['query'] = select && [['select', selectItems(select).join(',')]];
    return this.#exchange(
      { method: 'GET', path: this.#pathOf(id), query, headers, onFault: 'repeat', signal },
      async (response) =>
        response.status === 304 ? { row: null, etag: readEtag(response) } : readRow(response),
    );
  }

  insert(row: Insert, options: InsertOptions & DryRun): Promise<{ plan: Plan }>;
  insert(
    row: Insert,
    options: InsertOptions & { returning: 'minimal' },
  ): Promise<{ id: string; etag: string }>;
  insert(row: Insert, options?: InsertOptions): Promise<Found<Row>>;
  async insert(row: Insert, options: InsertOptions & Partial<DryRun> = {}) {
    const { idempotencyKey, returning } = options;
    const call: Call = {
      ...this.#write('POST', this.target.path, row, options),
      onFault: idempotencyKey === undefined ? 'give_up' : 'repeat',
    };
    if (idempotencyKey !== undefined) call.headers = { ...call.headers, 'idempotency-key': idempotencyKey };
    if (options.dryRun) return this.#exchange(call, readPlan);
    if (returning !== 'minimal') return this.#exchange(call, readRow<Row>);
    call.headers = { ...call.headers, prefer: 'return=minimal' };
    return this.#exchange(call, async (response) => ({ id: readId(response), etag: readEtag(response) }));
  }

  /**
   * Each batch is stored completely or not at all, and its idempotency key makes resending safe. A rejected batch
   * throws `SvcBatchError`.
   */
  insertMany(
    rows: Iterable<Insert> | AsyncIterable<Insert>,
    options: BatchOptions = {},
  ): Promise<BatchResult> {
    return insertBatches(this.target, rows, options);
  }

  update(id: Id, changes: Update, options: UpdateOptions & DryRun): Promise<{ plan: Plan }>;
  update(id: Id, changes: Update, options?: UpdateOptions): Promise<Found<Row>>;
  async update(id: Id, changes: Update, options: UpdateOptions & Partial<DryRun> = {}) {
    const call = this.#write('PATCH', this.#pathOf(id), changes, options);
    if (options.ifMatch !== undefined) call.headers = { ...call.headers, 'if-match': options.ifMatch };
    return options.dryRun ? this.#exchange(call, readPlan) : this.#exchange(call, readRow<Row>);
  }

  delete(id: Id, options: UpdateOptions & DryRun): Promise<{ plan: Plan }>;
  delete(id: Id, options?: UpdateOptions): Promise<void>;
  async delete(id: Id, options: UpdateOptions & Partial<DryRun> = {}) {
    const call = this.#write('DELETE', this.#pathOf(id), undefined, options);
    if (options.ifMatch !== undefined) call.headers = { ...call.headers, 'if-match': options.ifMatch };
    return options.dryRun ? this.#exchange(call, readPlan) : this.#exchange(call, async () => {});
  }

  /** Updates all rows that match, in one transaction: `todos.updateMany(['done', 'is', true], { archived: true })`. */
  updateMany(filter: Filter<Row>, changes: Update, options: ManyOptions & DryRun): Promise<{ plan: Plan }>;
  updateMany(
    filter: Filter<Row>,
    changes: Update,
    options?: ManyOptions,
  ): Promise<ManyChanged<Row> & { updated: number }>;
  async updateMany(filter: Filter<Row>, changes: Update, options: ManyOptions & Partial<DryRun> = {}) {
    const result = await changeMany<Row>(this.target, 'PATCH', filter, changes, options);
    if ('plan' in result) return result;
    const { count: updated, ...rest } = result;
    return { updated, ...rest };
  }

  /** Deletes all rows that match, in one transaction. */
  deleteMany(filter: Filter<Row>, options: ManyOptions & DryRun): Promise<{ plan: Plan }>;
  deleteMany(filter: Filter<Row>, options?: ManyOptions): Promise<ManyChanged<Row> & { deleted: number }>;
  async deleteMany(filter: Filter<Row>, options: ManyOptions & Partial<DryRun> = {}) {
    const result = await changeMany<Row>(this.target, 'DELETE', filter, undefined, options);
    if ('plan' in result) return result;
    const { count: deleted, ...rest } = result;
    return { deleted, ...rest };
  }

  /** Uploads a file for a column: `pets.insert({ name: 'Rex', photo: await pets.upload('photo', blob) })`. */
  upload(column: keyof Row & string, blob: Blob, options: UploadOptions = {}): Promise<FileValue> {
    return uploadFile(this.target, column, blob, options);
  }

  /** The file of a row, for those who may read the value. */
  download(id: Id, column: keyof Row & string, options: CallOptions = {}): Promise<Blob> {
    const path = `${this.#pathOf(id)}/_files/${toPathStep(column)}`;
    return this.#exchange({ method: 'GET', path, onFault: 'repeat', signal: options.signal }, (response) =>
      response.blob(),
    );
  }

  /** The changes of a row, newest first. */
  history(id: Id, options: PageOptions = {}): Promise<RowChanges<Row>> {
    return this.#listChanges(`${this.#pathOf(id)}/_history`, options);
  }

  /** Deleted rows that can be restored, last deleted first: each is `before` of its entry. */
  trash(options: PageOptions = {}): Promise<RowChanges<Row>> {
    return this.#listChanges(`${this.target.path}/_trash`, options);
  }

  /** Restores a deleted row, or all rows that a request has deleted or updated. */
  restore(what: Id | RestoredRequest, options: CallOptions & DryRun): Promise<{ plan: Plan }>;
  restore(what: Id | RestoredRequest, options?: CallOptions): Promise<Restored>;
  async restore(what: Id | RestoredRequest, options: CallOptions & Partial<DryRun> = {}) {
    const isRequest = typeof what === 'object' && 'requestId' in what;
    const path = `${isRequest ? this.target.path : this.#pathOf(what)}/_restore`;
    const body = isRequest
      ? { request_id: what.requestId, ...(what.by === undefined ? {} : { by: what.by }) }
      : {};
    const call = this.#write('POST', path, body, options);
    return options.dryRun ? this.#exchange(call, readPlan) : this.#exchange(call, readJson<Restored>);
  }

  #listChanges(path: string, { signal, ...page }: PageOptions): Promise<RowChanges<Row>> {
    const query = pageQuery(page);
    return this.#exchange({ method: 'GET', path, query, onFault: 'repeat', signal }, readChanges<Row>);
  }

  #write(
    method: 'POST' | 'PATCH' | 'DELETE',
    path: string,
    body: object | undefined,
    { signal, dryRun }: CallOptions & Partial<DryRun>,
  ): Call {
    return {
      method,
      path,
      onFault: 'give_up',
      signal,
      ...(dryRun ? { query: [['dry_run', 'true']] } : {}),
      ...(body === undefined ? {} : { body: toJson(body), headers: { 'content-type': 'application/json' } }),
    };
  }

  #exchange<T>(call: Call, read: (response: Response) => Promise<T>): Promise<T> {
    return this.target.transport.exchange(call, read);
  }

  #pathOf(id: Id): string {
    return `${this.target.path}/${toPathStep(id)}`;
  }
}

async function readRow<Row>(response: Response): Promise<Found<Row>> {
  const text = await response.text();
  if (text === '')
    throw new TypeError("Done, but you may not read the row: use returning: 'minimal' or dryRun.");
  return { row: JSON.parse(text), etag: readEtag(response) };
}

async function readPlan(response: Response): Promise<{ plan: Plan }> {
  const { plan } = await readJson<Preview>(response);
  return { plan };
}

function readEtag(response: Response): string {
  return response.headers.get('etag') ?? '';
}

function readId(response: Response): string {
  return decodeURIComponent(response.headers.get('location')?.split('/').at(-1) ?? '');
}
