/** The Engine API, as far as apps need it. Paths are below the version; what the engine says against it is thrown. */
export interface Engine {
  /** As the operator wrote it. */
  readonly host: string;
  json<T>(method: Method, path: string, call?: Call): Promise<T>;
  /** For answers that nobody reads. */
  tell(method: Method, path: string, call?: Call): Promise<void>;
  /** Comes as long as it comes; ends with `signal`. */
  stream(method: Method, path: string, call?: Call): Promise<Response>;
}

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

export interface Call {
  query?: Readonly<Record<string, string | number | readonly string[] | undefined>>;
  /** As JSON. */
  body?: unknown;
  /** As it is: an archive. */
  bytes?: ReadableStream<Uint8Array> | Uint8Array;
  signal?: AbortSignal;
  timeoutMs?: number;
  /** Spoken by engines that know it, for what the usual one does not have. */
  upTo?: string;
}

/** What the engine answered; 0: it did not. */
export class EngineError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
    this.name = 'EngineError';
  }
}

const answerMsMax = 60_000;
/** What this was written by; newer engines still speak it. */
const versionWanted = '1.41';

export function createEngine(host: string): Engine {
  const place = placeOf(host);
  let version: Promise<{ usual: string; newest: string }> | null = null;

  async function send(method: Method, path: string, call: Call, limitMs: number | null): Promise<Response> {
    const limit = limitMs === null ? [] : [AbortSignal.timeout(limitMs)];
    const signals = [...(call.signal ? [call.signal] : []), ...limit];
    const body = call.bytes ?? (call.body === undefined ? undefined : JSON.stringify(call.body));
    const type = call.bytes ? 'application/x-tar' : 'application/json';
    let answer: Response;
    try {
      answer = await fetch(`${place.origin}${path}${queryOf(call.query)}`, {
        method,
        ...(place.unix === null ? {} : { unix: place.unix }),
        ...(body === undefined ? {} : { body, headers: { 'content-type': type } }),
        ...(signals.length > 0 ? { signal: AbortSignal.any(signals) } : {}),
        // Builds and logs are silent for as long as they like.
        timeout: false,
      } as RequestInit);
    } catch (error) {
      call.signal?.throwIfAborted();
      const why = error instanceof Error ? error.message : String(error);
      throw new EngineError(0, `The Docker engine at ${host} does not answer: ${why}`);
    }
    if (answer.status < 400) return answer;
    throw new EngineError(answer.status, messageIn(await answer.text()));
  }

  async function versioned(path: string, { upTo }: Call): Promise<string> {
    version ??= negotiate().catch((error: unknown) => {
      version = null;
      throw error;
    });
    const { usual, newest } = await version;
    return `/v${upTo && !isBefore(newest, upTo) ? upTo : usual}${path}`;
  }

  async function negotiate(): Promise<{ usual: string; newest: string }> {
    const answer = await send('GET', '/version', {}, answerMsMax);
    const { ApiVersion: newest, MinAPIVersion: oldest } = (await answer.json()) as Record<string, string>;
    if (!newest || isBefore(newest, versionWanted))
      throw new EngineError(
        0,
        `The Docker engine at ${host} speaks API ${newest ?? '?'}; ${versionWanted} (Docker 20.10) is needed.`,
      );
    return { usual: oldest && isBefore(versionWanted, oldest) ? oldest : versionWanted, newest };
  }

  return {
    host,
    async json<T>(method: Method, path: string, call: Call = {}) {
      const answer = await send(method, await versioned(path, call), call, call.timeoutMs ?? answerMsMax);
      return (await answer.json()) as T;
    },
    async tell(method, path, call = {}) {
      const answer = await send(method, await versioned(path, call), call, call.timeoutMs ?? answerMsMax);
      await answer.arrayBuffer();
    },
    async stream(method, path, call = {}) {
      return send(method, await versioned(path, call), call, call.timeoutMs ?? null);
    },
  };
}

/** What is not there is no error to those who want it gone. */
export function unlessGone<T>(asked: Promise<T>): Promise<T | null> {
  return asked.catch((error: unknown) => {
    if (error instanceof EngineError && error.status === 404) return null;
    throw error;
  });
}

function placeOf(host: string): { origin: string; unix: string | null } {
  if (host.startsWith('unix://')) return { origin: 'http://engine', unix: host.slice('unix://'.length) };
  return { origin: host.replace(/^tcp:/, 'http:').replace(/\/+$/, ''), unix: null };
}

function queryOf(query: Call['query']): string {
  const pairs = Object.entries(query ?? {}).flatMap(([name, value]) => {
    if (value === undefined) return [];
    const values = typeof value === 'object' ? value : [String(value)];
    return values.map((each) => [name, each]);
  });
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs)}`;
}

function messageIn(text: string): string {
  try {
    return String((JSON.parse(text) as { message?: unknown }).message ?? text);
  } catch {
    return text.slice(0, 1_000);
  }
}

function isBefore(one: string, other: string): boolean {
  const [a = 0, b = 0] = one.split('.').map(Number);
  const [c = 0, d = 0] = other.split('.').map(Number);
  return a < c || (a === c && b < d);
}
