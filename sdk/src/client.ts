import { toPathStep } from './encode.ts';
import type { SignIn } from './sign-in.ts';
import { Table } from './table.ts';
import { type Credential, createTransport } from './transport.ts';

export type DatabaseTypes<DB> = { [Name in keyof DB]: { Row: object; Insert: object; Update: object } };

export type Auth = { apiKey: string } | { token: () => string | Promise<string> } | SignIn;

export interface ClientOptions {
  baseUrl: string;
  tenant: string;
  app: string;
  auth: Auth;
  fetch?: (url: string, init: RequestInit) => Promise<Response>;
  /** Applies to the whole response, but only to the start of an export. Default: 60 seconds. */
  timeoutMs?: number;
  /** Number of retries of a repeatable request. Default: 3. */
  retriesMax?: number;
}

// biome-ignore lint/suspicious/noExplicitAny: a table that nobody described takes and gives anything.
type Anything = Record<string, any>;

export type Client<DB extends DatabaseTypes<DB> = Record<never, never>> = [keyof DB] extends [never]
  ? AnyClient
  : DescribedClient<DB>;

interface DescribedClient<DB extends DatabaseTypes<DB>> {
  table<Name extends keyof DB & string>(
    name: Name,
  ): Table<DB[Name]['Row'], DB[Name]['Insert'], DB[Name]['Update']>;
}

interface AnyClient {
  table<
    Row extends object = Anything,
    Insert extends object = Partial<Row>,
    Update extends object = Partial<Row>,
  >(name: string): Table<Row, Insert, Update>;
}

export function createClient<DB extends DatabaseTypes<DB> = Record<never, never>>(
  options: ClientOptions,
): Client<DB> {
  const { tenant, app, fetch: ask = (url, init) => fetch(url, init) } = options;
  const transport = createTransport({
    baseUrl: options.baseUrl.replace(/\/+$/, ''),
    credential: credentialOf(options.auth),
    fetch: ask,
    timeoutMs: options.timeoutMs ?? 60_000,
    retriesMax: options.retriesMax ?? 3,
  });
  const base = `/data/${toPathStep(tenant)}/${toPathStep(app)}`;
  return {
    table: (name: string) => new Table({ transport, path: `${base}/${toPathStep(name)}` }),
  } as Client<DB>;
}

function credentialOf(auth: Auth): Credential {
  if ('apiKey' in auth) return { headers: async () => ({ 'x-api-key': auth.apiKey }) };
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
  if ('token' in auth) {
    const headers = async () => bearer(await auth.token());
    return { headers, renew: async (refused) => (await headers()).authorization !== refused.authorization };
  }
  return {
    headers: async () => bearer(await auth.getToken()),
    renew: async ({ authorization = '' }) => {
      await auth.getToken({ insteadOf: authorization.slice('Bearer '.length) });
      return true;
    },
  };
}
