export type ParsedValue = {
    readonly ok: true;
    readonly value: string;
} | InvalidValue;
export type InvalidValue = {
    readonly ok: false;
    readonly detail: string;
};
export declare function parseText(text: string): ParsedValue;
export declare function parseInt32(text: string): ParsedValue;
export declare function parseInt64(text: string): ParsedValue;
export declare function parseFloat64(text: string): ParsedValue;
export declare function parseBool(text: string): ParsedValue;
/** Never rounded: digits beyond the scale must be zeros. */
export declare function parseDecimal(text: string, digits: number, scale: number): ParsedValue;
export declare function parseEnum(text: string, values: readonly string[]): ParsedValue;
/** RFC 3339 only: PostgreSQL would also accept `now`, `infinity` and `01/02/2024`. */
export declare function parseTimestamp(text: string): ParsedValue;
/** An RFC 3339 full-date only: PostgreSQL would also accept `today`, `20240203` and `Feb 3 2024`. */
export declare function parseDate(text: string): ParsedValue;
export declare function parseUuid(text: string): ParsedValue;
/** Returns the text itself: PostgreSQL stores numbers of any length, which a JavaScript round trip would not keep. */
export declare function parseJson(raw: string): ParsedValue;
/** The array as PostgreSQL reads it. */
export declare function parseTexts(raw: string): ParsedValue;
export declare function parseInts(raw: string): ParsedValue;
export declare function arrayText(items: readonly (string | null)[]): string;
/** Of an array as `parseTexts` and `parseInts` write it. */
export declare function countItems(array: string): number;
/** In microseconds since 1970. */
export declare function timestampMicros(text: string): bigint;
