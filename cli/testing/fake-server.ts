import { afterAll, beforeEach } from 'bun:test';
import { type ContractEntry, contract } from '@svc/contract/all.ts';
import { Icon } from '@svc/contract/icons.shapes.ts';
import { answerOf, previewOf, problem, requestId, type Seen } from './answers.ts';
import { fakeOAuth, newOAuthState } from './fake-oauth.ts';
import { fakeRows, newRowsState } from './fake-rows.ts';
import { newFolder, type Ran, type RunOptions, removeFolders, runSvc } from './run-svc.ts';

type Intercepted = Response | undefined;

export type FakeServer = ReturnType<typeof startFakeServer>;

/** A real HTTP server that speaks the contract: answers fit the schemas, previews are plans, logins rotate. */
export function startFakeServer() {
  const server = Bun.serve({
    port: 0,
    idleTimeout: 60,
    async fetch(request): Promise<Response> {
      const { pathname: path, searchParams: query } = new URL(request.url);
      const { method, headers } = request;
      const seen: Seen = { method, path, query, headers, body: await request.text() };
      fake.seen.push(seen);
      return (await fake.intercept?.(request, seen)) ?? answer(fake, seen);
    },
  });
  const url = `http://localhost:${server.port}`;
  const fake = {
    url,
    env: { SVC_BASE_URL: url, SVC_TOKEN: 'good', SVC_TENANT: 'demo', SVC_CONFIG_DIR: newFolder() },
    /** Requests in order, including those to `/oauth`. */
    seen: [] as Seen[],
    oauth: newOAuthState(),
    rows: newRowsState(),
    /** Replaces the usual answer, where it returns one. */
    intercept: undefined as
      | ((request: Request, seen: Seen) => Intercepted | Promise<Intercepted>)
      | undefined,
    /** Runs svc against this server, as a person who is logged in and has a tenant. */
    svc: (argv: readonly string[], { env, ...options }: RunOptions = {}): Promise<Ran> =>
      runSvc(argv, { cwd: newFolder(), ...options, env: { ...fake.env, ...env } }),
    stop: () => server.stop(true),
  };
  return fake;
}

/** For a test file: stops with it, and starts each test without requests and interception. */
export function useFakeServer(): FakeServer {
  const fake = startFakeServer();
  fake.oauth.tokens.add('good');
  beforeEach(() => {
    fake.seen = [];
    fake.intercept = undefined;
  });
  afterAll(async () => {
    await fake.stop();
    removeFolders();
  });
  return fake;
}

/** Fields of answers that differ from the sample: nothing is left to wait for, and URLs lead to this server. */
const overrides: Record<string, (url: string, seen: Seen) => object> = {
  'domains.verify': () => ({ status: 'active' }),
  'deployments.get': () => ({ state: 'live' }),
  'bootstraps.get': () => ({ state: 'done' }),
  'bootstraps.start': () => ({ state: 'done', approval: null }),
  'apps.fork': () => ({ state: 'done', approval: null }),
  'deployments.grantUpload': (url) => ({ put_url: `${url}/sources/a-token` }),
  'icons.sign': (url) => ({ put_url: `${url}/icons/1?token=t` }),
  'icons.preCreate': (url) => ({ put_url: `${url}/icons/1?token=t` }),
  'storage.list': () => ({ next_cursor: null }),
  'previews.get': (url) => ({ url }),
  'storage.getUrl': (url) => ({ url: `${url}/objects/a-token/name` }),
  'storage.signUpload': (url) => ({
    put_url: `${url}/objects/a-token/name`,
    headers: { 'content-type': 'text/plain' },
  }),
  'releases.create': (url, { body }) => {
    const { files } = JSON.parse(body) as { files: { sha256: string }[] };
    return {
      missing: [...new Set(files.map(({ sha256 }) => sha256))],
      upload_url: `${url}/uploads/a-token/`,
    };
  },
};

function answer(fake: FakeServer, seen: Seen): Response | Promise<Response> {
  if (seen.path.startsWith('/oauth/')) return fakeOAuth(fake.url, fake.oauth, seen);
  const signed = signedUrlAnswer(seen);
  if (signed !== undefined) return signed;
  const token = seen.headers.get('authorization')?.replace(/^Bearer /, '') ?? '';
  const isRows = seen.path.startsWith('/data/');
  const isPat = seen.headers.get('x-api-key') === 'svcpat_good';
  if (!fake.oauth.tokens.has(token) && !isPat) return problem('unauthenticated');
  if (isRows) return fakeRows(fake.rows, seen);
  // As at the real server, a word wins over a parameter.
  const [entry] = contract
    .filter(({ endpoint }) => endpoint.method === seen.method && fits(endpoint.path, seen.path))
    .sort((one, other) => parametersIn(one) - parametersIn(other));
  if (entry === undefined) return problem('not_found');
  if (isPat && entry.endpoint.authority.token === undefined) return problem('login_required');
  const wrong = inputFault(entry, seen);
  if (wrong !== undefined)
    return problem('validation_failed', { errors: [{ code: 'invalid', detail: wrong }] });
  const { id, status } = entry.endpoint;
  if (seen.query.get('dry_run') === 'true')
    return Response.json(contractPreview(entry), { headers: requestId });
  if (status === 204) return new Response(null, { status, headers: requestId });
  const made = answerOf(entry);
  const override = overrides[id]?.(fake.url, seen);
  return Response.json(override === undefined ? made : { ...(made as object), ...override }, {
    status,
    headers: requestId,
  });
}

const sha256 = (text: string) => new Bun.CryptoHasher('sha256').update(text).digest('hex');
const objectText = 'bytes of an object';

/** Signed URLs need no credential. */
function signedUrlAnswer({ method, path, headers, body }: Seen): Response | undefined {
  const created = { status: 201, headers: requestId };
  switch (path.split('/')[1]) {
    case 'icons':
      return Response.json(answerOf({ shape: { answer: Icon } }), created);
    case 'sources':
      return Response.json({}, created);
    case 'uploads':
      return new Response(null, { status: path.endsWith(sha256(body)) ? 204 : 422, headers: requestId });
    case 'objects': {
      if (method !== 'PUT')
        return new Response(objectText, { headers: { ...requestId, etag: `"${sha256(objectText)}"` } });
      const content_type = headers.get('content-type');
      return Response.json({ key: 'a/key', size: body.length, sha256: sha256(body), content_type }, created);
    }
    default:
      return undefined;
  }
}

function contractPreview({ endpoint }: ContractEntry) {
  return previewOf(endpoint.id, {
    changes: [
      { path: 'name', before: null, after: 'new', effect: 'create' },
      { path: 'scope', before: ['a'], after: [], effect: 'update' },
      { path: 'old', before: 'x', after: null, effect: 'delete' },
    ],
    warnings: ['Mind the gap.'],
    irreversible: endpoint.irreversible === true,
  });
}

/** Checks body and query as the real server does. */
function inputFault({ shape }: ContractEntry, seen: Seen): string | undefined {
  const body = seen.body === '' ? undefined : JSON.parse(seen.body);
  const query = Object.fromEntries([...seen.query].filter(([name]) => name !== 'dry_run'));
  const faults = [shape.body?.safeParse(body), shape.query?.safeParse(query)];
  return faults.find((result) => result?.success === false)?.error?.message;
}

const parametersIn = ({ endpoint }: ContractEntry) => endpoint.path.split('{').length;

function fits(template: string, path: string): boolean {
  return new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}$`).test(path);
}
