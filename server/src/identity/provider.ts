import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ClientMetadata, Provider } from 'oidc-provider';
import type { Logger } from 'pino';
import type { RequestInfo } from '../plumbing/api.ts';
import type { Db } from '../plumbing/db.ts';
import { allowAppRedirects, findAppClient } from './app-clients.ts';
import { createDeviceGate } from './device-pages.ts';
import { createDevicePolling } from './device-polling.ts';
import { forwardTo } from './forward-to-socket.ts';
import { createFrame, listenForFaults } from './frame.ts';
import { createInteractions } from './interactions.ts';
import { loadOidcProvider } from './load-oidc-provider.ts';
import { registerLocalGrant } from './local-grant.ts';
import { createLogout } from './logout.ts';
import { createOauthAdapter } from './oauth-adapter.ts';
import { ownClients } from './provider-clients.ts';
import { deviceCodeSeconds, providerConfig } from './provider-config.ts';
import { loadProviderKeys } from './provider-keys.ts';
import { listenOnSocket } from './provider-socket.ts';
import { createUpstream } from './upstream.ts';
import type { UpstreamSettings } from './upstream-client.ts';

export interface IdentityProviderOptions {
  db: Db;
  baseUrl: string;
  /** Apps live on hosts below it. */
  appsDomain: string;
  dataDir: string;
  log: Logger;
  upstream?: UpstreamSettings;
  /** Null: local login is off. */
  localSecret: string | null;
  /** The id of the user that a local login signs in. */
  localUser: () => Promise<string | null>;
  /** Clients besides our own that are fixed rather than stored. */
  extraClients?: readonly ClientMetadata[];
}

export interface IdentityProvider {
  /** Answers everything under `/oauth`. */
  handle(request: Request, url: URL, info: RequestInfo): Promise<Response>;
  stop(): Promise<void>;
}

/** The OpenID provider. It is a Node handler, so it listens on a socket of its own and requests are passed on to it. */
export async function createIdentityProvider(options: IdentityProviderOptions): Promise<IdentityProvider> {
  const { db, baseUrl, appsDomain, log } = options;
  const { Provider, errors, interactionPolicy } = await loadOidcProvider();
  const clients = ownClients({ baseUrl, localLogin: options.localSecret === null ? 'off' : 'on' });
  const config = providerConfig({
    db,
    baseUrl,
    interactionPolicy,
    accessDenied: () => new errors.AccessDenied('this app is not open to you'),
    keys: await loadProviderKeys(db),
    clients: [...clients, ...(options.extraClients ?? [])],
    adapter: createOauthAdapter({
      db,
      request: () => Provider.ctx,
      invalidGrant: (detail) => new errors.InvalidGrant(detail),
      findClient: (id) => findAppClient({ db, baseUrl, appsDomain }, id),
    }),
  });
  const provider = new Provider(`${baseUrl}/oauth`, config);
  // Only we can reach the socket, and we say where the request came from.
  provider.proxy = true;
  allowAppRedirects(provider);
  addPages(provider, options);
  listenForFaults(provider, log);
  const { localSecret, localUser } = options;
  if (localSecret !== null) registerLocalGrant({ db, provider, errors, secret: localSecret, localUser });

  const socket = await listenOnSocket(options.dataDir, mounted(provider));
  return { handle: forwardTo(socket.path, baseUrl), stop: socket.close };
}

function addPages(provider: Provider, options: IdentityProviderOptions): void {
  const { db, baseUrl, log, upstream } = options;
  provider.use(createFrame(log));
  provider.use(createDevicePolling(db, deviceCodeSeconds));
  provider.use(createDeviceGate({ db, provider, baseUrl }));
  provider.use(createInteractions({ db, provider, baseUrl, upstreamName: upstream?.name ?? null }));
  provider.use(createLogout({ provider, baseUrl }));
  if (upstream) provider.use(createUpstream({ db, provider, baseUrl, log, settings: upstream }));
}

/** The provider's routes know nothing of `/oauth`; its addresses do, by what the request was called first. */
function mounted(
  provider: Provider,
): (req: IncomingMessage & { originalUrl?: string }, res: ServerResponse) => void {
  const answer = provider.callback();
  return (req, res) => {
    req.originalUrl = req.url ?? '/';
    req.url = req.originalUrl.replace(/^\/oauth(?=[/?]|$)/, '').replace(/^(?!\/)/, '/');
    void answer(req, res);
  };
}
