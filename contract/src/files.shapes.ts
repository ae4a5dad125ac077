import { z } from 'zod';
import { fileNameCharsMax } from './file-type.ts';
import { chars, ref, timestamp, uuid } from './shapes.ts';
import { contentType } from './storage.shapes.ts';
import { columnName, tableName } from './tables.shapes.ts';

export const RowFile = z.object({ id: uuid, name: z.string(), size: z.int(), type: z.string() });

export const signFile = {
  params: z.object({ tenant: ref, app: ref, table: tableName.or(ref) }),
  body: z.strictObject({
    column: columnName.meta({ description: 'A column of type file.' }),
    name: chars(1, fileNameCharsMax).meta({ description: 'The name of the file, without slashes.' }),
    type: contentType,
    size: z.int().min(0).meta({ description: 'Exact size in bytes.' }),
  }),
  answer: z.object({
    file: RowFile.meta({ description: 'The value for the column, once the upload is done.' }),
    put_url: z.string(),
    expires_at: timestamp,
    headers: z.record(z.string(), z.string()).meta({ description: 'Headers to send with the PUT.' }),
  }),
};
