import { createAppToken } from './app-token.ts';
import { toPathStep } from './encode.ts';
import { environment } from './environment.ts';
import { Objects } from './objects.ts';
import {
  type Operation,
  type OperationOf,
  type OperationResult,
  type OperationsOptions,
  runOperations,
} from './operations.ts';
import { createPeople, type FindPeople } from './people.ts';
import type { SignIn } from './sign-in.ts';
import { type Plan, Table } from './table.ts';
import { timeoutMsDefault } from './time-limits.ts';
import { type Credential, createTransport } from './transport.ts';

export type DatabaseTypes<DB> = {
  [Name in keyof DB]: { Row: object; Insert: object; Update: object; Relations?: object };
};

export type Auth = { apiKey: string } | { token: () => string | Promise<string> } | Pick<SignIn, 'getToken'>;

/** On a server of the platform all of it is optional: the client takes it from the environment, and acts as the app itself. */
export interface ClientOptions {
  /** Default: `SVC_API_URL`, else `SVC_BASE_URL`. */
  baseUrl?: string;
  /** Default: `SVC_TENANT`. */
  tenant?: string;
  /** Default: `SVC_APP`. */
  app?: string;
  /** Default: the app's own identity. */
  auth?: Auth;
  fetch?: (url: string, init: RequestInit) => Promise<Response>;
  /**
   * Applies to the whole response; for exports and downloads to its start. Uploads have 10 minutes. Default: 60 seconds.
   */
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
  storage: Objects;
  connector(name: string): Connector;
  /** The names of people who occur in rows that the caller may read, by id; others are absent. */
  people: FindPeople;
  table<Name extends keyof DB & string>(
    name: Name,
  ): Table<
    DB[Name]['Row'],
    DB[Name]['Insert'],
    DB[Name]['Update'],
    DB[Name] extends { Relations: infer Relations } ? Relations : unknown
  >;
  /** Changes rows of several tables in one transaction: all of it or nothing. */
  batch(
    operations: readonly OperationOf<DB>[],
    options: OperationsOptions & { dryRun: true },
  ): Promise<{ plan: Plan }>;
  batch<const Operations extends readonly OperationOf<DB>[]>(
    operations: Operations,
    options?: OperationsOptions,
  ): Promise<{
    results: { [At in keyof Operations]: OperationResult<DB[Operations[At]['table']]['Row']> };
  }>;
}

type AnyTable = <
  Row extends object = Anything,
  Insert extends object = Partial<Row>,
  Update extends object = Partial<Row>,
>(
  name: string,
) => Table<Row, Insert, Update, Anything[string]>;

interface AnyClient {
  storage: Objects;
  table: AnyTable;
  connector(name: string): Connector;
  batch(
    operations: readonly AnyOperation[],
    options: OperationsOptions & { dryRun: true },
  ): Promise<{ plan: Plan }>;
  batch(
    operations: readonly AnyOperation[],
    options?: OperationsOptions,
  ): Promise<{ results: OperationResult<Anything>[] }>;
  /** The names of people who occur in rows that the caller may read, by id; others are absent. */
  people: FindPeople;
}

/**
 * The organisation's data behind a connector: what the person has grants for and the app has data scopes for. Refusals
 * have the code `grant_missing`, with a `requestUrl`, or `data_scope_missing`.
 */
export interface Connector {
  /** Tables are named `schema/table`. */
  table: ConnectorTables;
}

/** Rows change one at a time, where the grants and the connector allow it. */
type ConnectorTables = <
  Row extends object = Anything,
  Insert extends object = Partial<Row>,
  Update extends object = Partial<Row>,
>(
  path: string,
) => Omit<Table<Row, Insert, Update>, 'insertMany' | 'updateMany' | 'deleteMany'>;

type AnyOperation = Operation<string, { Row: Anything; Insert: Anything; Update: Anything }>;

export function createClient<DB extends DatabaseTypes<DB> = Record<never, never>>(
  options: ClientOptions = {},
): Client<DB> {
  const { fetch: ask = (url, init) => fetch(url, init), timeoutMs = timeoutMsDefault } = options;
  const env = environment();
  const baseUrl = requireOption('baseUrl', options.baseUrl ?? env.SVC_API_URL ?? env.SVC_BASE_URL).replace(
    /\/+$/,
    '',
  );
  const tenant = toPathStep(requireOption('tenant', options.tenant ?? env.SVC_TENANT));
  const app = toPathStep(requireOption('app', options.app ?? env.SVC_APP));
  const auth = options.auth ?? createAppToken({ fetch: ask, timeoutMs }) ?? undefined;
  const transport = createTransport({
    baseUrl,
    credential: credentialOf(requireOption('auth', auth)),
    fetch: ask,
    timeoutMs,
    retriesMax: options.retriesMax ?? 3,
  });
  return {
    table: (name: string) => new Table({ transport, path: `/data/${tenant}/${app}/${toPathStep(name)}` }),
    connector: (connector: string) => ({
      table: (path: string) =>
        new Table({
          transport,
          path: `/data/${tenant}/_connectors/${toPathStep(connector)}/${tableSteps(path)}`,
        }),
    }),
    batch: (operations: readonly object[], batchOptions: OperationsOptions & { dryRun?: boolean } = {}) =>
      runOperations({ transport, path: `/data/${tenant}/${app}` }, operations, batchOptions),
    people: createPeople({ transport, path: `/data/${tenant}/${app}/_people` }),
    storage: new Objects({
      transport,
      baseUrl,
      path: `/api/v1/tenants/${tenant}/apps/${app}/storage`,
      fetch: ask,
      timeoutMs,
    }),
  } as unknown as Client<DB>;
}

/** Names of tables may have slashes, names of schemas may not. */
function tableSteps(path: string): string {
  const [schema = '', ...table] = path.split('/');
  if (schema === '' || table.length === 0) throw new TypeError(`${path} must be schema/table.`);
  return `${toPathStep(schema)}/${toPathStep(table.join('/'))}`;
}

function requireOption<T>(name: keyof ClientOptions, value: T | undefined): T {
  if (value !== undefined) return value;
  throw new TypeError(
    `createClient needs ${name}: only on a server of the platform does it come from the environment.`,
  );
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
