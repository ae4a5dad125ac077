/** What a test of PostgREST or PocketBase pins down, written for the grammar of this server. */
interface Origin {
  /** A sentence. */
  name: string;
  /** The suite and its test. */
  from: string;
  /** The subject in the guide's table of differences, where the answer is another one than theirs. */
  differs?: string;
}

export type PersonName = 'ada' | 'ben' | 'mona';

export interface Answer {
  /** 200 when absent. */
  status?: number;
  /** The rows of a list. */
  rows?: unknown[];
  /** What the body has at least. */
  body?: object;
  /** The code of an error, or of its first detail. */
  code?: string;
  /** How the header `Svc-Note` begins. */
  note?: string;
}

export interface ReadCase extends Origin, Answer {
  /** Path and query behind `/data/{tenant}/{app}/`. */
  get: string;
  accept?: string;
}

export interface Step extends Answer {
  /** The person who sends it; the owner when absent. */
  as?: PersonName;
  /** Method and path behind the table. */
  send: string;
  json?: unknown;
  lines?: object[];
  prefer?: string;
}

/** Requests one after the other, on a table of their own. */
export interface StepsCase extends Origin {
  columns: readonly string[];
  /** Further fields of the table, such as its rules. */
  table?: object;
  indexes?: object[];
  rows?: object[];
  steps: Step[];
}

export interface FeedCase extends StepsCase {
  /** The query of the feed. */
  feed?: string;
  /** The person who follows; the owner when absent. */
  follower?: PersonName;
  /** Kind and data of the events after `ready`; the last one ends the case. */
  events: [kind: string, data: object][];
}

export const ids = (...list: (number | string)[]) => list.map((id) => ({ id }));
export const names = (...list: (string | null)[]) => list.map((name) => ({ name }));
