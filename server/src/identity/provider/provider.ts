import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ClientMetadata, Provider } from 'oidc-provider';
import type { Logger } from 'pino';
import type { Db } from '../../core/db.ts';
import type { EventSource } from '../../core/events.ts';
import type { IssuerKeys } from '../../drivers/oidc/issuer-keys.ts';
import type { RequestInfo } from '../../http/handlers.ts';
import { allowAppRedirects, findAppClient, ownClients } from '../sessions/clients.ts';
import { createDevicePolling, createOauthAdapter } from '../sessions/oauth-adapter.ts';
import { createDeviceGate } from './device-pages.ts';
import { createBrowserCookie, currentOrigin } from './finish-login.ts';
import { createFrame, listenForFaults } from './frame.ts';
import { createInteractions, createLogout } from './interactions.ts';
import { registerLocalGrant } from './local-login.ts';
import { deviceCodeSeconds, listSigningKeys, type ProviderKeys, providerConfig } from './provider-config.ts';
import { forwardTo, listenOnSocket } from './provider-socket.ts';
import { registerTokenExchange } from './token-exchange.ts';
import { createUpstream } from './upstream.ts';
import type { UpstreamSettings } from './upstream-client.ts';

export interface IdentityProviderOptions {
  db: Db;
  onCommitted?: (tag: string) => void;
  events: EventSource;
  baseUrl: string;
  appsDomain: string;
  dataDir: string;
  log: Logger;
  keys: ProviderKeys;
  upstream?: UpstreamSettings;
  issuers: IssuerKeys;
  localSecret: string | null;
  localUser: () => Promise<string | null>;
  localPasswords: 'on' | 'off';
  canResetPassword: boolean;
  extraClients?: readonly ClientMetadata[];
}

export interface IdentityProvider {
  handle(request: Request, url: URL, info: RequestInfo): Promise<Response>;
  stop(): Promise<void>;
}

/** The provider is a Node handler: it listens on its own socket, and requests are forwarded to it. */
export async function createIdentityProvider(options: IdentityProviderOptions): Promise<IdentityProvider> {
  const createProvider = await prepareProvider(options);
  // The provider reads its signing keys once: after a rotation another one answers new requests.
  const keyIds = () =>
    listSigningKeys(options.keys)
      .map(({ kid }) => kid)
      .join();
  let built = { keyIds: keyIds(), answer: createProvider().callback() };
  const socket = await listenOnSocket(
    options.dataDir,
    mount((req, res) => {
      if (built.keyIds !== keyIds()) built = { keyIds: keyIds(), answer: createProvider().callback() };
      return built.answer(req, res);
    }),
  );
  return { handle: forwardTo(socket.path, options.baseUrl), stop: socket.close };
}

async function prepareProvider(options: IdentityProviderOptions): Promise<() => Provider> {
  const { db, baseUrl, appsDomain, log, keys, localSecret, localUser } = options;
  const { Provider, errors, interactionPolicy } = await loadOidcProvider();
  const clients = ownClients({ baseUrl, localLogin: options.localSecret === null ? 'off' : 'on' });
  return () => {
    const config = providerConfig({
      db,
      events: options.events,
      log,
      baseUrl,
      interactionPolicy,
      accessDenied: () => new errors.AccessDenied('this app is not open to you'),
      keys,
      clients: [...clients, ...(options.extraClients ?? [])],
      adapter: createOauthAdapter({
        db,
        onCommitted: options.onCommitted,
        request: () => Provider.ctx,
        invalidGrant: (detail) => new errors.InvalidGrant(detail),
        findClient: (id) => findAppClient({ db, baseUrl, appsDomain }, id),
        origin: currentOrigin,
      }),
    });
    const provider = new Provider(`${baseUrl}/oauth`, config);
    // Only this process can connect to the socket, and it sets the client address.
    provider.proxy = true;
    allowAppRedirects(provider);
    addPages(provider, options);
    listenForFaults(provider, log);
    registerTokenExchange({ ...options, provider, errors });
    if (localSecret !== null)
      registerLocalGrant({ ...options, provider, errors, secret: localSecret, localUser });
    return provider;
  };
}

function addPages(provider: Provider, options: IdentityProviderOptions): void {
  const { db, events, baseUrl, log, upstream } = options;
  provider.use(createFrame(log));
  provider.use(createBrowserCookie({ baseUrl }));
  provider.use(createDevicePolling(db, deviceCodeSeconds));
  provider.use(createDeviceGate({ db, provider, baseUrl }));
  provider.use(createInteractions({ ...options, provider, upstreamName: upstream?.name ?? null }));
  provider.use(createLogout({ provider, baseUrl }));
  if (upstream) provider.use(createUpstream({ db, events, provider, baseUrl, log, settings: upstream }));
}

/** The provider's routes are relative to `/oauth`; its URLs use the original path. */
function mount(
  answer: (req: IncomingMessage, res: ServerResponse) => unknown,
): (req: IncomingMessage & { originalUrl?: string }, res: ServerResponse) => void {
  return (req, res) => {
    req.originalUrl = req.url ?? '/';
    req.url = req.originalUrl.replace(/^\/oauth(?=[/?]|$)/, '').replace(/^(?!\/)/, '/');
    void answer(req, res);
  };
}

/** Loaded with the first request, because that takes half of the start; with an upstream at start, which reports wrong settings. */
export async function createLazyProvider(options: IdentityProviderOptions): Promise<IdentityProvider> {
  if (options.upstream) return createIdentityProvider(options);
  let loading: Promise<IdentityProvider> | null = null;
  const provider = () => {
    loading ??= createIdentityProvider(options).catch((error: unknown) => {
      // Retries after a failure: the database may be temporarily unavailable.
      loading = null;
      throw error;
    });
    return loading;
  };
  return {
    handle: async (request, url, info) => (await provider()).handle(request, url, info),
    stop: async () => loading?.then((provider) => provider.stop()),
  };
}

/** Suppresses the library's "Unsupported runtime" warning at import; other warnings pass. */
async function loadOidcProvider(): Promise<typeof import('oidc-provider')> {
  const { warn } = console;
  console.warn = (...args: unknown[]) => {
    if (!String(args[0]).includes('oidc-provider WARNING: Unsupported runtime')) warn(...args);
  };
  try {
    return await import('oidc-provider');
  } finally {
    console.warn = warn;
  }
}
