import { Objects } from './objects.js';
import { type Operation, type OperationOf, type OperationResult, type OperationsOptions } from './operations.js';
import { type FindPeople } from './people.js';
import type { SignIn } from './sign-in.js';
import { type Plan, Table } from './table.js';
export type DatabaseTypes<DB> = {
    [Name in keyof DB]: {
        Row: object;
        Insert: object;
        Update: object;
        Relations?: object;
    };
};
export type Auth = {
    apiKey: string;
} | {
    token: () => string | Promise<string>;
} | Pick<SignIn, 'getToken'>;
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
type Anything = Record<string, any>;
export type Client<DB extends DatabaseTypes<DB> = Record<never, never>> = [keyof DB] extends [never] ? AnyClient : DescribedClient<DB>;
interface DescribedClient<DB extends DatabaseTypes<DB>> {
    storage: Objects;
    connector(name: string): Connector;
    /** The names of people who occur in rows that the caller may read, by id; others are absent. */
    people: FindPeople;
    table<Name extends keyof DB & string>(name: Name): Table<DB[Name]['Row'], DB[Name]['Insert'], DB[Name]['Update'], DB[Name] extends {
        Relations: infer Relations;
    } ? Relations : unknown>;
    /** Changes rows of several tables in one transaction: all of it or nothing. */
    batch(operations: readonly OperationOf<DB>[], options: OperationsOptions & {
        dryRun: true;
    }): Promise<{
        plan: Plan;
    }>;
    batch<const Operations extends readonly OperationOf<DB>[]>(operations: Operations, options?: OperationsOptions): Promise<{
        results: {
            [At in keyof Operations]: OperationResult<DB[Operations[At]['table']]['Row']>;
        };
    }>;
}
type AnyTable = <Row extends object = Anything, Insert extends object = Partial<Row>, Update extends object = Partial<Row>>(name: string) => Table<Row, Insert, Update, Anything[string]>;
interface AnyClient {
    storage: Objects;
    table: AnyTable;
    connector(name: string): Connector;
    batch(operations: readonly AnyOperation[], options: OperationsOptions & {
        dryRun: true;
    }): Promise<{
        plan: Plan;
    }>;
    batch(operations: readonly AnyOperation[], options?: OperationsOptions): Promise<{
        results: OperationResult<Anything>[];
    }>;
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
type ConnectorTables = <Row extends object = Anything, Insert extends object = Partial<Row>, Update extends object = Partial<Row>>(path: string) => Omit<Table<Row, Insert, Update>, 'insertMany' | 'updateMany' | 'deleteMany'>;
type AnyOperation = Operation<string, {
    Row: Anything;
    Insert: Anything;
    Update: Anything;
}>;
export declare function createClient<DB extends DatabaseTypes<DB> = Record<never, never>>(options?: ClientOptions): Client<DB>;
export {};
