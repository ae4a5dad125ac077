import type { JsonSchema } from '../src/command.ts';

/** A value that fits a JSON Schema: for answers of the fake server. */
export function sample(schema: JsonSchema): unknown {
  if ('const' in schema) return schema.const;
  if (Array.isArray(schema.enum)) return schema.enum[0];
  const options = (schema.anyOf ?? schema.oneOf) as JsonSchema[] | undefined;
  if (options?.[0] !== undefined) return sample(options[0]);
  if (Array.isArray(schema.type)) return sample({ ...schema, type: schema.type[0] });
  switch (schema.type) {
    case 'object':
      return Object.fromEntries(
        Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>).map(([name, part]) => [
          name,
          sample(part),
        ]),
      );
    case 'array':
      return schema.items === undefined ? [] : [sample(schema.items as JsonSchema)];
    case 'integer':
    case 'number':
      return 1;
    case 'boolean':
      return true;
    case 'null':
      return null;
    default:
      return sampleText(schema.format);
  }
}

function sampleText(format: unknown): string {
  if (format === 'uuid') return '0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c';
  if (format === 'date-time') return '2031-05-01T12:00:00.000Z';
  return 'text';
}
