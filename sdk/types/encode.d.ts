export type Scalar = string | number | bigint | boolean | Date;
export declare function toText(value: unknown): string;
export declare function toItem(text: string): string;
/** Like `JSON.stringify`, but a bigint keeps its digits, and NaN and Infinity are errors instead of null. */
export declare function toJson(value: unknown): string;
export declare function toPathStep(value: Scalar): string;
