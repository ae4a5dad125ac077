import type { Ctx } from '../context.ts';
import { CliError, usage } from '../errors.ts';

/**
 * The object in a YAML or JSON file; `-` is standard input, no path an empty object. Numbers under a key of `digits`
 * come as the text that stands there: as numbers they could lose some.
 */
export async function readDocument(
  ctx: Ctx,
  path: string | undefined,
  { digits = [] }: { digits?: readonly string[] } = {},
): Promise<Record<string, unknown>> {
  if (path === undefined) return {};
  const text = path === '-' ? await ctx.io.readInput() : await readText(path);
  const data = await parse(text, path, new Set(digits));
  if (typeof data === 'object' && data !== null && !Array.isArray(data))
    return data as Record<string, unknown>;
  throw usage(`${path} does not hold an object of fields.`);
}

async function readText(path: string): Promise<string> {
  try {
    return await Bun.file(path).text();
  } catch (cause) {
    const why = cause instanceof Error && 'code' in cause ? ` (${cause.code})` : '';
    throw new CliError('file_unreadable', `${path} can not be read${why}.`, {
      next: 'Check the path, and that you may read the file.',
      cause,
    });
  }
}

/** YAML is only loaded for what is not JSON already. */
async function parse(text: string, path: string, digits: ReadonlySet<string>): Promise<unknown> {
  try {
    return parseJson(text, digits);
  } catch {
    const { parseDocument, visit } = await import('yaml');
    const document = parseDocument(text);
    const [error] = document.errors;
    if (error !== undefined) throw usage(`${path} is neither JSON nor YAML: ${error.message.split('\n')[0]}`);
    visit(document, {
      Scalar: (_key, node, ancestors) => {
        const pair = ancestors.at(-1);
        const key = pair !== undefined && 'key' in pair && pair.key !== node ? String(pair.key) : '';
        if (!digits.has(key) || typeof node.value !== 'number') return;
        // Other spellings than the decimal, such as 0x1f, are numbers to YAML alone.
        if (node.source !== undefined && decimal.test(node.source)) node.value = node.source;
      },
    });
    return document.toJS();
  }
}

const decimal = /^-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/;

type Reviver = (key: string, value: unknown, context: { source?: string }) => unknown;
/** The source of a value is newer than the types that the compiler knows. */
const parseWithSource = JSON.parse as (text: string, reviver: Reviver) => unknown;

function parseJson(text: string, digits: ReadonlySet<string>): unknown {
  if (digits.size === 0) return JSON.parse(text);
  return parseWithSource(text, (key, value, { source }) =>
    typeof value === 'number' && digits.has(key) ? (source ?? value) : value,
  );
}
