import { isObject } from '@svc/contract/json.ts';
import { bodyBytesMaxDefault } from '@svc/contract/limits.ts';
import { yamlFault } from '@svc/contract/yaml-fault.ts';
import type { Ctx } from '../context.ts';
import { usageError } from '../framework/errors.ts';
import { inputName, readInputText } from './files.ts';

export interface DocumentOptions {
  digits?: readonly string[];
}

export async function readDocument(
  ctx: Ctx,
  path: string | undefined,
  options: DocumentOptions = {},
): Promise<Record<string, unknown>> {
  return path === undefined ? {} : parseDocumentText(await readDocumentText(ctx, path), path, options);
}

export function readDocumentText(ctx: Ctx, path: string): Promise<string> {
  return readInputText(ctx, path, { bytesMax: bodyBytesMaxDefault });
}

export async function parseDocumentText(
  text: string,
  path: string,
  { digits = [] }: DocumentOptions = {},
): Promise<Record<string, unknown>> {
  const data = await parse(text, path, new Set(digits));
  if (isObject(data)) return data;
  throw usageError(`${inputName(path)} does not contain an object.`);
}

async function parse(text: string, path: string, digits: ReadonlySet<string>): Promise<unknown> {
  try {
    return parseJson(text, digits);
  } catch {
    return parseYaml(text, path, digits);
  }
}

async function parseYaml(text: string, path: string, digits: ReadonlySet<string>): Promise<unknown> {
  const { parseDocument, visit } = await import('yaml');
  const parseError = (cause: unknown) =>
    usageError(`${inputName(path)} is neither valid JSON nor valid YAML: ${yamlFault(cause)}.`);
  // Other keys than strings would be serialized, and may be nested without limit.
  const document = parseDocument(text, { stringKeys: true });
  const [error] = document.errors;
  if (error !== undefined) throw parseError(error);
  try {
    visit(document, {
      Scalar: (_key, node, ancestors) => {
        const pair = ancestors.at(-1);
        const key = pair !== undefined && 'key' in pair && pair.key !== node ? String(pair.key) : '';
        if (!digits.has(key) || typeof node.value !== 'number') return;
        // Only YAML has other notations than decimal, such as 0x1f.
        if (node.source !== undefined && decimal.test(node.source)) node.value = node.source;
      },
    });
    const data: unknown = document.toJS();
    // Rejects circular references, which YAML allows.
    JSON.stringify(data);
    return data;
  } catch (cause) {
    throw parseError(cause);
  }
}

const decimal = /^-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/;

type Reviver = (key: string, value: unknown, context: { source?: string }) => unknown;
/** TypeScript does not yet declare the reviver's third argument. */
const parseWithSource = JSON.parse as (text: string, reviver: Reviver) => unknown;

function parseJson(text: string, digits: ReadonlySet<string>): unknown {
  if (digits.size === 0) return JSON.parse(text);
  return parseWithSource(text, (key, value, { source }) =>
    typeof value === 'number' && digits.has(key) ? (source ?? value) : value,
  );
}
