export declare const filterOps: readonly ['eq', 'neq', 'gt', 'gte', 'lt', 'lte', 'in', 'is', 'like', 'ilike', 'sw', 'ew', 'has', 'isw', 'iew', 'ihas', 'between', 'cs', 'cd', 'hk', 'ov'];
export type FilterOp = (typeof filterOps)[number];
export declare const isKeywords: readonly ['null', 'not_null', 'true', 'false'];
export type IsKeyword = (typeof isKeywords)[number];
export declare const countModes: readonly ['exact', 'estimated', 'capped'];
export type CountMode = (typeof countModes)[number];
export declare const countCap = 10000;
export declare const aggregateFunctions: readonly ['count', 'sum', 'avg', 'min', 'max', 'count_distinct'];
export type AggregateFunction = (typeof aggregateFunctions)[number];
/** The start of the period in which a time is. */
export declare const dateParts: readonly ['year', 'quarter', 'month', 'week', 'day', 'hour'];
export type DatePart = (typeof dateParts)[number];
export declare const groupsPerPageMax = 1000;
export declare const aggregateItemsMax = 50;
/** Related rows in a list: levels, kinds of them in all, and rows of each. */
export declare const embedDepthMax = 3;
export declare const embedsMax = 20;
export declare const embedRowsMax = 100;
export declare const conditionsMax = 50;
export declare const groupDepthMax = 8;
export declare const sortKeysMax = 8;
export declare const inValuesMax = 1000;
export declare const pageMax = 1000000000;
export declare const rowBytesMax: number;
export declare const jsonDepthMax = 100;
export declare const batchBytesMax: number;
export declare const batchLinesMax = 10000;
export declare const batchRequestsPerMinuteMax = 200;
export declare const batchErrorsMax = 100;
/** Rows that a change by filter affects at most. */
export declare const affectedDefault = 100;
export declare const affectedMax = 10000;
/** Operations of an atomic batch over several tables. */
export declare const batchOperationsMax = 100;
export declare const batchOps: readonly ['insert', 'update', 'delete', 'upsert'];
export type BatchOp = (typeof batchOps)[number];
export declare const rowStatementMsMax = 5000;
export declare const batchStatementMsMax = 30000;
export declare const connectorStatementMsMax = 10000;
/** How long a change feed can be resumed after its last event. */
export declare const changesRetentionHours = 24;
export declare const changesHeartbeatSeconds = 15;
/** Limit for the history of rows and for deleted rows. */
export declare const historyDaysMax = 3650;
export declare const historyPerPageMax = 100;
export declare const eventStreamMediaType = "text/event-stream";
export declare const jsonLinesMediaTypes: readonly string[];
export declare const jsonLinesMediaType = "application/x-ndjson";
export declare const csvMediaType = "text/csv";
/** Response header: what may be a mistake in a query that was answered. */
export declare const noteHeader = "svc-note";
/** People whose names one request can read. */
export declare const peopleIdsMax = 100;
/** A value in a row. */
export interface FileValue {
    id: string;
    name: string;
    size: number;
    type: string;
}
