import { openServerDatabase } from './database.ts';
import { endWith } from './server.ts';
import { newSite, type SiteGround } from './sites.ts';

export type RunningApp = Awaited<ReturnType<typeof runningApp>>;

/** A deployed app whose only instance is a server in this process. */
export async function runningApp(
  options: { websocket?: Partial<Bun.WebSocketHandler<undefined>>; within?: SiteGround['tenant'] } = {},
) {
  const site = await newSite(undefined, options.within);
  const seen: { method: string; path: string; headers: Record<string, string> }[] = [];
  const app = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    maxRequestBodySize: 2 ** 40,
    fetch(request, bun) {
      const { pathname } = new URL(request.url);
      if (pathname === '/socket' && bun.upgrade(request)) return undefined;
      seen.push({ method: request.method, path: pathname, headers: Object.fromEntries(request.headers) });
      if (pathname === '/swallow') return swallowed(request);
      // Bun sets no content type for a stream.
      if (pathname === '/untyped') return new Response(stream('<h1>hello</h1>'));
      if (pathname.startsWith('/down/')) return new Response(zeros(Number(pathname.slice(6))));
      return Response.json(seen.at(-1));
    },
    websocket: { message: (socket, data) => void socket.send(data), ...options.websocket },
  });
  const { tenant, server } = site;
  const database = openServerDatabase(server);
  const [deployment, instance] = [Bun.randomUUIDv7(), Bun.randomUUIDv7()];
  // Confirmed for longer than the test lasts: no server checks the instance.
  await database.query(
    `with deployed as (
       insert into svc.deployments (id, tenant_id, app_id, seq, kind, trigger, state, method, source, created_at, live_at)
       values ($1, $2, $3, 1, 'deploy', 'person', 'live', 'docker', 'artifact', now(), now())),
     started as (
       insert into svc.app_instances (id, tenant_id, app_id, deployment_id, node, address, state, started_at, confirmed_at)
       values ($4, $2, $3, $1, 'a test', $5, 'ready', now(), now() + interval '1 hour'))
     update svc.apps set live_deployment_id = $1, runtime = 'running', is_deployed = true, deployments_made = 1
     where id = $3`,
    [deployment, tenant.id, site.app.id, instance, `127.0.0.1:${app.port}`],
  );
  const invalidate = () => database.query("select pg_notify('svc_changed', $1)", [`app:${site.app.id}`]);
  await invalidate();
  endWith(server, async () => {
    await app.stop(true);
    await database.close();
  });
  const authority = `${site.host}:${server.port}`;
  return {
    site,
    authority,
    /** Of the instance, at 127.0.0.1. */
    port: app.port ?? 0,
    seen,
    fetch: (path: string, init: RequestInit = {}): Promise<Response> =>
      fetch(`http://127.0.0.1:${server.port}${path}`, {
        redirect: 'manual',
        ...init,
        headers: { host: authority, ...(init.headers as Record<string, string>) },
      }),
    async setMode(mode: 'cookie' | 'bearer' | 'api_key' | 'anonymous') {
      await database.query('update svc.apps set auth_mode = $1 where id = $2', [mode, site.app.id]);
      await invalidate();
    },
    stop: async () => void (await app.stop(true)),
  };
}

/** So many MiB, created as they are read. */
export function zeros(pieces: number): ReadableStream<Uint8Array> {
  let left = pieces;
  return new ReadableStream({
    pull(controller) {
      if (left-- > 0) controller.enqueue(new Uint8Array(2 ** 20));
      else controller.close();
    },
  });
}

const stream = (text: string) =>
  new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode(text));
      controller.close();
    },
  });

async function swallowed(request: Request): Promise<Response> {
  let bytes = 0;
  for await (const piece of request.body as unknown as AsyncIterable<Uint8Array>) bytes += piece.length;
  return new Response(String(bytes));
}
