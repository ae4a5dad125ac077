import type { ColumnDescriptor } from './columns.js';
export type FileType = 'file' | `file(${string})`;
export interface FileLimits {
    bytesMax: number;
    /** Empty for all. */
    types: readonly string[];
}
/** A value in a row. */
export interface FileValue {
    id: string;
    name: string;
    size: number;
    type: string;
}
export declare const fileTypesMax = 20;
export declare const fileNameCharsMax = 255;
/** A file that no row has by then is removed. */
export declare const unusedFileMinutes = 60;
export declare const fileUploadSeconds = 600;
export declare function fileType(args: readonly string[]): FileType | {
    detail: string;
};
export declare const isFileType: (type: string) => type is FileType;
export declare function fileLimits(type: FileType): FileLimits;
export declare function isTypeAllowed({ types }: FileLimits, type: string): boolean;
export declare function fileDescriptor(type: FileType): ColumnDescriptor;
