import { type ContractEntry, contract } from '@svc/contract/all.ts';
import { Icon } from '@svc/contract/icons.shapes.ts';
import type { JsonSchema } from '../src/command.ts';
import { fakeOAuth, type OAuthState } from './fake-oauth.ts';
import { fakeObjects, withObjectUrls } from './fake-objects.ts';
import { problem, requestId } from './fake-problem.ts';
import { fakeRows, newRowsState, type RowsState } from './fake-rows.ts';
import { fakeUploads, withUploads } from './fake-uploads.ts';
import { sample } from './sample.ts';

export interface Seen {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: Headers;
  body: string;
}

type Intercepted = Response | undefined;

export interface FakeServer {
  url: string;
  /** Requests in order; those to `/oauth` too. */
  seen: Seen[];
  oauth: OAuthState;
  /** Of every table. */
  rows: RowsState;
  /** Answers a request instead of the usual answer, when it returns one. */
  intercept: ((request: Request, seen: Seen) => Intercepted | Promise<Intercepted>) | undefined;
  stop(): Promise<void>;
}

/** A real HTTP server that speaks the contract: answers fit the schemas, previews are plans, logins rotate. */
export function startFakeServer(): FakeServer {
  const server = Bun.serve({
    port: 0,
    idleTimeout: 60,
    async fetch(request): Promise<Response> {
      const url = new URL(request.url);
      const body = await request.text();
      const seen: Seen = {
        method: request.method,
        path: url.pathname,
        query: url.searchParams,
        headers: request.headers,
        body,
      };
      fake.seen.push(seen);
      return (await fake.intercept?.(request, seen)) ?? answer(fake, seen);
    },
  });
  const fake: FakeServer = {
    url: `http://localhost:${server.port}`,
    seen: [],
    oauth: {
      tokens: new Set(),
      refreshTokens: new Set(),
      devices: new Map(),
      serial: 0,
      accessSeconds: 3600,
    },
    rows: newRowsState(),
    intercept: undefined,
    stop: () => server.stop(true),
  };
  return fake;
}

function answer(fake: FakeServer, seen: Seen): Response | Promise<Response> {
  if (seen.path.startsWith('/oauth/')) return fakeOAuth(fake.url, fake.oauth, seen);
  // The address alone lets an icon in.
  if (seen.path.startsWith('/icons/'))
    return Response.json(answerOf({ shape: { answer: Icon } }), { status: 201, headers: requestId });
  if (seen.path.startsWith('/objects/')) return fakeObjects(seen);
  if (seen.path.startsWith('/uploads/')) return fakeUploads(seen);
  if (seen.path.startsWith('/sources/')) return Response.json({}, { status: 201, headers: requestId });
  const token = seen.headers.get('authorization')?.replace(/^Bearer /, '') ?? '';
  const isRows = seen.path.startsWith('/data/');
  const isPat = isRows && seen.headers.get('x-api-key') === 'svcpat_good';
  if (!fake.oauth.tokens.has(token) && !isPat) return problem('unauthenticated');
  if (isRows) return fakeRows(fake.rows, seen);
  // As at the real one, a word wins over a parameter.
  const [entry] = contract
    .filter(({ endpoint }) => endpoint.method === seen.method && fits(endpoint.path, seen.path))
    .sort((one, other) => parametersIn(one) - parametersIn(other));
  if (entry === undefined) return problem('not_found');
  const wrong = inputFault(entry, seen);
  if (wrong !== undefined)
    return problem('validation_failed', { errors: [{ code: 'invalid', detail: wrong }] });
  if (seen.query.get('dry_run') === 'true') return Response.json(previewOf(entry), { headers: requestId });
  if (entry.endpoint.status === 204) return new Response(null, { status: 204, headers: requestId });
  const { id } = entry.endpoint;
  const made = withUploads(fake.url, id, seen, withObjectUrls(fake.url, id, answerOf(entry)));
  // Whoever waits for a domain has waited long enough.
  if (id === 'domains.verify') return Response.json({ ...(made as object), status: 'active' });
  // And whoever waits for a deployment.
  if (id === 'deployments.get') return Response.json({ ...(made as object), state: 'live' });
  // And whoever waits for a run, or for somebody to approve one.
  if (id === 'bootstraps.get') return Response.json({ ...(made as object), state: 'done' });
  if (id === 'bootstraps.start' || id === 'apps.fork')
    return Response.json({ ...(made as object), state: 'done', approval: null }, { status: 201 });
  if (id === 'deployments.grantUpload')
    return Response.json({ ...(made as object), put_url: `${fake.url}/sources/a-token` }, { status: 201 });
  const isUpload = id.startsWith('icons.');
  const told = isUpload ? { ...(made as object), put_url: `${fake.url}/icons/1?token=t` } : made;
  return Response.json(told, { status: entry.endpoint.status, headers: requestId });
}

export function answerOf(entry: Pick<ContractEntry, 'shape'>): unknown {
  return sample(entry.shape.answer.toJSONSchema({ io: 'input', unrepresentable: 'any' }) as JsonSchema);
}

function previewOf({ endpoint }: ContractEntry) {
  return {
    dry_run: true,
    plan: {
      operation: endpoint.id,
      target: { kind: 'thing', id: '(assigned on execution)', name: 'a thing' },
      changes: [
        { path: 'name', before: null, after: 'new', effect: 'create' },
        { path: 'scope', before: ['a'], after: [], effect: 'update' },
        { path: 'old', before: 'x', after: null, effect: 'delete' },
      ],
      warnings: ['Mind the gap.'],
      irreversible: endpoint.irreversible ?? false,
      fingerprint: 'f1f2f3',
    },
  };
}

/** Checks body and query as the real server would, so that a command that sends nonsense is found out. */
function inputFault({ shape }: ContractEntry, seen: Seen): string | undefined {
  const body = seen.body === '' ? undefined : JSON.parse(seen.body);
  const query = Object.fromEntries([...seen.query].filter(([name]) => name !== 'dry_run'));
  const faults = [shape.body?.safeParse(body), shape.query?.safeParse(query)];
  return faults.find((result) => result?.success === false)?.error?.message;
}

function parametersIn({ endpoint }: ContractEntry): number {
  return endpoint.path.split('{').length;
}

function fits(template: string, path: string): boolean {
  return new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}$`).test(path);
}
