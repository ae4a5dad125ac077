import type { ColumnDescriptor } from './columns.js';
import { type FileType } from './file-type.js';
export declare const decimalDigitsMax = 100;
export declare const enumValuesMax = 200;
export declare const enumValueCharsMax = 63;
export type RefType = `ref:${string}`;
export type FamilyType = `decimal(${number},${number})` | `enum(${string})` | FileType | RefType;
export declare const columnFamilies: {
    readonly decimal: 'decimal(12,2)';
    readonly enum: 'enum(a,b)';
    readonly file: 'file(max=5MB,types=image/*)';
};
export declare function familyType(family: string, args: readonly string[]): FamilyType | {
    detail: string;
};
export declare function enumValues(type: string): readonly string[] | null;
export declare function decimalDigits(type: string): {
    digits: number;
    scale: number;
} | null;
/** The table whose rows a column refers to. */
export declare function refTarget(type: string): string | null;
/** What happens to a row when the row that it refers to is deleted. */
export declare const deleteActions: readonly ['restrict', 'cascade', 'set_null'];
export type DeleteAction = (typeof deleteActions)[number];
export declare function familyDescriptor(type: string): ColumnDescriptor | null;
