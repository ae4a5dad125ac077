export const filterOps = [
  'eq',
  'neq',
  'gt',
  'gte',
  'lt',
  'lte',
  'in',
  'is',
  'like',
  'ilike',
  'sw',
  'ew',
  'has',
  'isw',
  'iew',
  'ihas',
  'between',
  'cs',
  'cd',
  'hk',
  'ov',
] as const;
export type FilterOp = (typeof filterOps)[number];

export const isKeywords = ['null', 'not_null', 'true', 'false'] as const;
export type IsKeyword = (typeof isKeywords)[number];

export const countModes = ['exact', 'estimated', 'capped'] as const;
export type CountMode = (typeof countModes)[number];
export const countCap = 10_000;

export const aggregateFunctions = ['count', 'sum', 'avg', 'min', 'max', 'count_distinct'] as const;
export type AggregateFunction = (typeof aggregateFunctions)[number];
/** The start of the period in which a time is. */
export const dateParts = ['year', 'quarter', 'month', 'week', 'day', 'hour'] as const;
export type DatePart = (typeof dateParts)[number];
export const groupsPerPageMax = 1_000;
export const aggregateItemsMax = 50;

/** Related rows in a list: levels, kinds of them in all, and rows of each. */
export const embedDepthMax = 3;
export const embedsMax = 20;
export const embedRowsMax = 100;

export const conditionsMax = 50;
export const groupDepthMax = 8;
export const sortKeysMax = 8;
export const inValuesMax = 1_000;
export const pageMax = 1_000_000_000;

export const rowBytesMax = 1024 * 1024;
export const jsonDepthMax = 100;
export const batchBytesMax = 16 * 1024 * 1024;
export const batchLinesMax = 10_000;
export const batchRequestsPerMinuteMax = 200;
export const batchErrorsMax = 100;
/** Rows that a change by filter affects at most. */
export const affectedDefault = 100;
export const affectedMax = 10_000;
/** Operations of an atomic batch over several tables. */
export const batchOperationsMax = 100;
export const batchOps = ['insert', 'update', 'delete', 'upsert'] as const;
export type BatchOp = (typeof batchOps)[number];
export const rowStatementMsMax = 5_000;
export const batchStatementMsMax = 30_000;
export const connectorStatementMsMax = 10_000;

/** How long a change feed can be resumed after its last event. */
export const changesRetentionHours = 24;
export const changesHeartbeatSeconds = 15;
/** Limit for the history of rows and for deleted rows. */
export const historyDaysMax = 3650;
export const historyPerPageMax = 100;
export const eventStreamMediaType = 'text/event-stream';

export const jsonLinesMediaTypes: readonly string[] = ['application/x-ndjson', 'application/jsonl'];
export const jsonLinesMediaType = 'application/x-ndjson';
export const csvMediaType = 'text/csv';
/** Response header: what may be a mistake in a query that was answered. */
export const noteHeader = 'svc-note';

/** People whose names one request can read. */
export const peopleIdsMax = 100;

/** A value in a row. */
export interface FileValue {
  id: string;
  name: string;
  size: number;
  type: string;
}
