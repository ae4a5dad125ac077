import { z } from 'zod';
import { type Manifest, manifestFormat } from '../backup/manifest.ts';
import { damaged } from './tar-reader.ts';

const named = z.object({ schema: z.string(), name: z.string() });
const count = z.int().nonnegative();
const shape: z.ZodType<Manifest> = z.object({
  format: z.literal(manifestFormat),
  created_at: z.string(),
  product_version: z.string(),
  postgres_version: z.string(),
  migrations: z.array(z.object({ name: z.string(), checksum: z.string() })).min(1),
  extensions: z.array(named),
  tables: z.array(
    named.extend({ columns: z.array(z.string()), rows: count, bytes: count, sha256: z.string() }),
  ),
  sequences: z.array(named.extend({ last_value: z.string().regex(/^-?\d+$/), is_called: z.boolean() })),
  schemas: z.array(z.object({ name: z.string().startsWith('app_'), sha256: z.string() })),
  files: z.object({ count, bytes: count, sha256: z.string() }),
  left_out: z.array(z.string()),
});

export function parseManifest(text: Buffer): Manifest {
  const value = jsonOf(text);
  const format = typeof value === 'object' && value !== null && 'format' in value ? value.format : undefined;
  if (typeof format === 'number' && format > manifestFormat) {
    throw damaged(`its format ${format} is newer than this version reads`);
  }
  const parsed = shape.safeParse(value);
  if (!parsed.success) throw damaged('its manifest is not readable');
  return parsed.data;
}

function jsonOf(text: Buffer): unknown {
  try {
    return JSON.parse(text.toString());
  } catch {
    throw damaged('its manifest is not readable');
  }
}
