/** Columns whose values are files: `file`, `file(max=5MB,types=image/*|application/pdf)`. */
import type { ParsedValue } from './column-values.ts';
import type { ColumnDescriptor } from './columns.ts';
import type { FileValue } from './rows.ts';
import { storageObjectBytesMax } from './storage.ts';

export type FileType = 'file' | `file(${string})`;

export interface FileLimits {
  bytesMax: number;
  /** Empty for all. */
  types: readonly string[];
}

const units = { B: 1, KB: 1024, MB: 1024 ** 2, GB: 1024 ** 3 } as const;
export const fileTypesMax = 20;
export const fileNameCharsMax = 255;
/** A file that no row has by then is removed. */
export const unusedFileMinutes = 60;
export const fileUploadSeconds = 600;

const typePattern = /^[a-z0-9][a-z0-9.+-]{0,63}\/(?:\*|[a-z0-9][a-z0-9.+-]{0,126})$/;

export function fileType(args: readonly string[]): FileType | { detail: string } {
  const options = new Map<string, string>();
  for (const arg of args) {
    const [, key = '', value = ''] = /^(max|types)=(.*)$/s.exec(arg) ?? [];
    if (key === '' || options.has(key))
      return {
        detail: 'file has the arguments max and types, as in file(max=5MB,types=image/*|application/pdf)',
      };
    options.set(key, key === 'max' ? value.toUpperCase() : value.toLowerCase());
  }
  const [max, types] = [options.get('max'), options.get('types')];
  const bytes = max === undefined ? 1 : parseBytes(max);
  if (bytes === null || bytes < 1 || bytes > storageObjectBytesMax)
    return { detail: 'max is a size from 1B to 5GB, as in 500KB or 5MB' };
  const list = types?.split('|') ?? [];
  if (list.length > fileTypesMax || !list.every((each) => typePattern.test(each)))
    return {
      detail: `types is a list of at most ${fileTypesMax} media types, as in image/*|application/pdf`,
    };
  const parts = [
    ...(max === undefined ? [] : [`max=${max}`]),
    ...(types === undefined ? [] : [`types=${types}`]),
  ];
  return parts.length === 0 ? 'file' : `file(${parts.join(',')})`;
}

function parseBytes(text: string): number | null {
  const [, number, unit] = /^([0-9]{1,10})(B|KB|MB|GB)$/.exec(text) ?? [];
  return number === undefined ? null : Number(number) * units[unit as keyof typeof units];
}

export const isFileType = (type: string): type is FileType => type === 'file' || type.startsWith('file(');

export function fileLimits(type: FileType): FileLimits {
  const args = new Map(
    type
      .slice(5, -1)
      .split(',')
      .filter((arg) => arg !== '')
      .map((arg) => arg.split('=') as [string, string]),
  );
  return {
    bytesMax: parseBytes(args.get('max') ?? '') ?? storageObjectBytesMax,
    types: args.get('types')?.split('|') ?? [],
  };
}

export function isTypeAllowed({ types }: FileLimits, type: string): boolean {
  const plain = type.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  const [family] = plain.split('/');
  return types.length === 0 || types.includes(plain) || types.includes(`${family}/*`);
}

const idPattern = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const invalid: ParsedValue = { ok: false, detail: 'must be the id of an uploaded file, or the file itself' };

/** The id in JSON, or an object with it: the server adds the rest. In a preview, a file that is not uploaded yet has none. */
function parseFile(text: string): ParsedValue {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && 'name' in value && !('id' in value))
      return { ok: true, value: JSON.stringify(value) };
    const id = typeof value === 'object' && value !== null && 'id' in value ? value.id : value;
    return typeof id === 'string' && idPattern.test(id)
      ? { ok: true, value: JSON.stringify({ id }) }
      : invalid;
  } catch {
    return idPattern.test(text) ? { ok: true, value: JSON.stringify({ id: text }) } : invalid;
  }
}

export function fileDescriptor(type: FileType): ColumnDescriptor {
  const { bytesMax, types } = fileLimits(type);
  const example: FileValue = {
    id: '01890a5d-ac96-774b-bcce-b302099a8057',
    name: 'photo.png',
    size: 12_345,
    type: types[0]?.replace('/*', '/png') ?? 'image/png',
  };
  const properties = {
    id: { type: 'string', format: 'uuid' },
    name: { type: 'string' },
    size: { type: 'integer', maximum: bytesMax },
    type: { type: 'string' },
  };
  return {
    sql: 'jsonb',
    json: 'json',
    ts: '{ id: string; name: string; size: number; type: string }',
    tsInput: 'string | { id: string }',
    openapi: {
      type: 'object',
      description:
        'A file. Upload it with `_files`, then write what the upload answers, or its id alone.' +
        (types.length === 0 ? '' : ` Media types: ${types.join(', ')}.`),
      properties,
      required: ['id'],
    },
    example,
    operators: ['is'],
    suggestedOperators: ['is'],
    exampleOperator: 'is',
    parse: parseFile,
  };
}
