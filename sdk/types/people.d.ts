import type { Transport } from './transport.js';
export interface NamedPerson {
    id: string;
    name: string;
    /** Null unless the app has the data scope `people:email`, or it is one's own. */
    email: string | null;
}
export type FindPeople = (ids: Iterable<string | null | undefined>) => Promise<Map<string, NamedPerson>>;
/** Calls of the same moment share requests; names are cached for a minute. */
export declare function createPeople({ transport, path }: {
    transport: Transport;
    path: string;
}): FindPeople;
