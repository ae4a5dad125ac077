/** Operators and limits of the row API, for every program that speaks it. */
export const filterOps = [
  ...(['eq', 'neq', 'gt', 'gte', 'lt', 'lte', 'in', 'is', 'like', 'ilike'] as const),
  ...(['sw', 'ew', 'has', 'isw', 'iew', 'ihas', 'between', 'cs', 'cd', 'hk'] as const),
] as const;
export type FilterOp = (typeof filterOps)[number];

export const isKeywords = ['null', 'not_null', 'true', 'false'] as const;
export type IsKeyword = (typeof isKeywords)[number];

export const countModes = ['exact', 'estimated', 'capped'] as const;
export type CountMode = (typeof countModes)[number];
/** A capped count stops here. */
export const countCap = 10_000;

/** Tests in one query, those inside groups too. */
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
/** A refused batch names the first of its errors, not all. */
export const batchErrorsMax = 100;
export const rowStatementMsMax = 5_000;
export const batchStatementMsMax = 30_000;

export const jsonLinesMediaTypes: readonly string[] = ['application/x-ndjson', 'application/jsonl'];
/** Of a stream of rows that we send. */
export const jsonLinesMediaType = 'application/x-ndjson';
