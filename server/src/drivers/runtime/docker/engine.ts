export interface Engine {
  readonly host: string;
  json<T>(method: Method, path: string, call?: Call): Promise<T>;
  send(method: Method, path: string, call?: Call): Promise<void>;
  stream(method: Method, path: string, call?: Call): Promise<Response>;
}

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

interface Call {
  query?: Readonly<Record<string, string | number | readonly string[] | undefined>>;
  body?: unknown;
  bytes?: ReadableStream<Uint8Array> | Uint8Array;
  signal?: AbortSignal;
  timeoutMs?: number;
  upTo?: string;
  headers?: Readonly<Record<string, string>>;
}

export class EngineError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
    this.name = 'EngineError';
  }
}

const responseMsMax = 60_000;
const apiVersion = '1.41';

export function createEngine(host: string): Engine {
  const target = parseHost(host);
  let version: Promise<{ usual: string; newest: string }> | null = null;

  async function request(
    method: Method,
    path: string,
    call: Call,
    limitMs: number | null,
  ): Promise<Response> {
    const limit = limitMs === null ? [] : [AbortSignal.timeout(limitMs)];
    const signals = [...(call.signal ? [call.signal] : []), ...limit];
    const body = call.bytes ?? (call.body === undefined ? undefined : JSON.stringify(call.body));
    const type = call.bytes ? 'application/x-tar' : 'application/json';
    let answer: Response;
    try {
      answer = await fetch(`${target.origin}${path}${toQuery(call.query)}`, {
        method,
        ...(target.unix === null ? {} : { unix: target.unix }),
        ...(body === undefined ? {} : { body }),
        headers: { ...(body === undefined ? {} : { 'content-type': type }), ...call.headers },
        ...(signals.length > 0 ? { signal: AbortSignal.any(signals) } : {}),
        timeout: false,
      } as RequestInit);
    } catch (error) {
      call.signal?.throwIfAborted();
      const why = error instanceof Error ? error.message : String(error);
      throw new EngineError(0, `The Docker engine at ${host} is unreachable: ${why}`);
    }
    if (answer.status < 400) return answer;
    const message = parseMessage(await answer.text());
    // A Swarm answers 500 where two requests create one name at the same time.
    const isConflict = message.includes('name conflicts with an existing object');
    throw new EngineError(isConflict ? 409 : answer.status, message);
  }

  async function addVersion(path: string, { upTo }: Call): Promise<string> {
    version ??= negotiate().catch((error: unknown) => {
      version = null;
      throw error;
    });
    const { usual, newest } = await version;
    return `/v${upTo && !isBefore(newest, upTo) ? upTo : usual}${path}`;
  }

  async function negotiate(): Promise<{ usual: string; newest: string }> {
    const answer = await request('GET', '/version', {}, responseMsMax);
    const { ApiVersion: newest, MinAPIVersion: oldest } = (await answer.json()) as Record<string, string>;
    if (!newest || isBefore(newest, apiVersion))
      throw new EngineError(
        0,
        `The Docker engine at ${host} has API version ${newest ?? '?'}; ${apiVersion} (Docker 20.10) or later is required.`,
      );
    return { usual: oldest && isBefore(apiVersion, oldest) ? oldest : apiVersion, newest };
  }

  async function respond(method: Method, path: string, call: Call): Promise<Response> {
    return request(method, await addVersion(path, call), call, call.timeoutMs ?? responseMsMax);
  }

  return {
    host,
    async json<T>(method: Method, path: string, call: Call = {}) {
      const answer = await respond(method, path, call);
      return (await answer.json()) as T;
    },
    async send(method, path, call = {}) {
      const answer = await respond(method, path, call);
      await answer.arrayBuffer();
    },
    async stream(method, path, call = {}) {
      return request(method, await addVersion(path, call), call, call.timeoutMs ?? null);
    },
  };
}

export function ignoreMissing<T>(request: Promise<T>): Promise<T | null> {
  return request.catch((error: unknown) => {
    if (error instanceof EngineError && error.status === 404) return null;
    throw error;
  });
}

/** One JSON object in each line. */
export async function* readMessages<T>(answer: Response): AsyncGenerator<T> {
  const decoder = new TextDecoder();
  let buffered = '';
  for await (const chunk of answer.body as unknown as AsyncIterable<Uint8Array>) {
    buffered += decoder.decode(chunk, { stream: true });
    const lines = buffered.split('\n');
    buffered = lines.pop() ?? '';
    for (const line of lines) if (line.trim() !== '') yield JSON.parse(line) as T;
  }
}

function parseHost(host: string): { origin: string; unix: string | null } {
  if (host.startsWith('unix://')) return { origin: 'http://engine', unix: host.slice('unix://'.length) };
  return { origin: host.replace(/^tcp:/, 'http:').replace(/\/+$/, ''), unix: null };
}

function toQuery(query: Call['query']): string {
  const pairs = Object.entries(query ?? {}).flatMap(([name, value]) => {
    if (value === undefined) return [];
    const values = typeof value === 'object' ? value : [String(value)];
    return values.map((each) => [name, each]);
  });
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs)}`;
}

function parseMessage(text: string): string {
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

export interface ContainerSummary {
  Id: string;
  State: string;
  Labels: Record<string, string>;
  SizeRw?: number;
  Mounts?: { Type: string; Name?: string }[];
}

export interface ContainerDetail {
  Id: string;
  RestartCount: number;
  State: {
    Running: boolean;
    Restarting: boolean;
    OOMKilled: boolean;
    ExitCode: number;
    Error: string;
    StartedAt: string;
    FinishedAt: string;
  };
  Config: { Labels: Record<string, string> };
  HostConfig: { ExtraHosts: string[] | null };
  SizeRw?: number;
}

export interface ServiceSummary {
  ID: string;
  Spec: { Name: string; Labels: Record<string, string> };
}

export interface TaskSummary {
  ID: string;
  ServiceID: string;
  NodeID?: string;
  CreatedAt: string;
  DesiredState: string;
  Status: {
    State: string;
    Err?: string;
    ContainerStatus?: { ContainerID?: string; ExitCode?: number };
  };
}

export interface NodeSummary {
  ID: string;
  Version: { Index: number };
  Spec: { Availability: string; Labels: Record<string, string> };
  Status: { State: string; Addr: string };
}

export interface EngineInfo {
  ID: string;
  ServerVersion: string;
  CgroupVersion?: string;
  MemoryLimit: boolean;
  PidsLimit: boolean;
  OSType: string;
  DockerRootDir: string;
  Swarm: {
    LocalNodeState: string;
    ControlAvailable: boolean;
    NodeID: string;
    Cluster?: { ID: string } | null;
  };
}

interface Frame {
  stream: 'stdout' | 'stderr';
  bytes: Uint8Array;
}

const headerBytes = 8;

export async function* readFrames(body: AsyncIterable<Uint8Array>): AsyncGenerator<Frame> {
  let buffered: Buffer = Buffer.alloc(0);
  for await (const chunk of body) {
    buffered = buffered.length === 0 ? Buffer.from(chunk) : Buffer.concat([buffered, chunk]);
    let from = 0;
    while (buffered.length - from >= headerBytes) {
      const length = buffered.readUInt32BE(from + 4);
      if (buffered.length - from < headerBytes + length) break;
      const bytes = buffered.subarray(from + headerBytes, from + headerBytes + length);
      yield { stream: buffered[from] === 2 ? 'stderr' : 'stdout', bytes };
      from += headerBytes + length;
    }
    buffered = buffered.subarray(from);
  }
}
