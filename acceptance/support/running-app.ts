import { behind } from './database.ts';
import { endWith } from './server.ts';
import { newSite, type SiteGround } from './sites.ts';

export interface RunningApp {
  site: SiteGround;
  /** As `host:port` of the platform's own listener. */
  authority: string;
  /** Every request that reached it, as it was sent there. */
  seen: { method: string; path: string; headers: Record<string, string> }[];
  fetch(path: string, init?: RequestInit): Promise<Response>;
  setMode(mode: 'cookie' | 'bearer' | 'api_key' | 'anonymous'): Promise<void>;
  stop(): Promise<void>;
}

/** An app as a deployment would leave it, whose one instance is this very process. */
export async function runningApp(
  options: { websocket?: Partial<Bun.WebSocketHandler<undefined>>; within?: SiteGround['tenant'] } = {},
): Promise<RunningApp> {
  const site = await newSite(undefined, options.within);
  const seen: RunningApp['seen'] = [];
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
      if (pathname === '/untyped') return new Response(untyped('<h1>hello</h1>'));
      if (pathname.startsWith('/down/')) return new Response(zeros(Number(pathname.slice(6))));
      return Response.json(seen.at(-1));
    },
    websocket: { message: (socket, data) => void socket.send(data), ...options.websocket },
  });
  const { tenant, server } = site;
  const database = behind(server);
  const [deployment, instance] = [Bun.randomUUIDv7(), Bun.randomUUIDv7()];
  await database.query(
    `insert into svc.deployments (id, tenant_id, app_id, seq, kind, trigger, state, method, source, created_at, live_at)
     values ($1, $2, $3, 1, 'deploy', 'person', 'live', 'docker', 'artifact', now(), now())`,
    [deployment, tenant.id, site.app.id],
  );
  // Confirmed for longer than the test lasts: nobody looks after it.
  await database.query(
    `insert into svc.app_instances (id, tenant_id, app_id, deployment_id, node, address, state, started_at, confirmed_at)
     values ($1, $2, $3, $4, 'a test', $5, 'ready', now(), now() + interval '1 hour')`,
    [instance, tenant.id, site.app.id, deployment, `127.0.0.1:${app.port}`],
  );
  await database.query(
    `update svc.apps set live_deployment_id = $1, runtime = 'running', is_deployed = true, deployments_made = 1
     where id = $2`,
    [deployment, site.app.id],
  );
  const tell = () => database.query("select pg_notify('svc_changed', $1)", [`app:${site.app.id}`]);
  await tell();
  endWith(server, async () => {
    await app.stop(true);
    await database.close();
  });
  const authority = `${site.host}:${server.port}`;
  return {
    site,
    authority,
    seen,
    fetch: (path, init = {}) =>
      fetch(`http://127.0.0.1:${server.port}${path}`, {
        redirect: 'manual',
        ...init,
        headers: { host: authority, ...(init.headers as Record<string, string>) },
      }),
    async setMode(mode) {
      await database.query('update svc.apps set auth_mode = $1 where id = $2', [mode, site.app.id]);
      await tell();
    },
    stop: async () => void (await app.stop(true)),
  };
}

const mib = 1024 * 1024;

/** So many MiB, made as they are taken. */
export function zeros(pieces: number): ReadableStream<Uint8Array> {
  let left = pieces;
  return new ReadableStream({
    pull(controller) {
      if (left-- > 0) controller.enqueue(new Uint8Array(mib));
      else controller.close();
    },
  });
}

/** Of a stream Bun says no kind, as it does of bytes and of texts. */
function untyped(text: string): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode(text));
      controller.close();
    },
  });
}

async function swallowed(request: Request): Promise<Response> {
  let bytes = 0;
  for await (const piece of request.body as unknown as AsyncIterable<Uint8Array>) bytes += piece.length;
  return new Response(String(bytes));
}
