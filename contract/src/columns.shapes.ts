import { z } from 'zod';
import { parseColumnType } from './column-spec.ts';
import { type ColumnType, columnTypeForms } from './columns.ts';

const typeText = z
  .string()
  .max(20_000)
  .meta({ description: `One of ${columnTypeForms.join(', ')}.` });
/** Names of types are checked where they are read, so that the error can give the reason. */
export const columnType = typeText.superRefine((value, ctx) => {
  const type = parseColumnType(value);
  if (typeof type !== 'string') ctx.addIssue({ code: 'custom', message: type.detail });
}) as unknown as z.ZodType<ColumnType, ColumnType>;
export const storedType = typeText as unknown as z.ZodType<ColumnType, ColumnType>;
