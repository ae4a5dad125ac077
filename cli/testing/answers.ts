import type { ContractEntry } from '@svc/contract/all.ts';
import { type ErrorCode, errorCodes } from '@svc/contract/error-codes.ts';
import type { JsonSchema } from '../src/command.ts';

export interface Seen {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: Headers;
  body: string;
}

export const requestId = { 'x-request-id': 'req-1' };

export function problem(
  code: ErrorCode,
  more: Record<string, unknown> = {},
  headers: Record<string, string> = {},
): Response {
  const { status, means } = errorCodes[code];
  const named = { type: 'about:blank', title: code, status, detail: means, code, request_id: 'req-1' };
  const sent = { ...requestId, ...headers, 'content-type': 'application/problem+json' };
  return Response.json({ ...named, ...more }, { status, headers: sent });
}

const oneChange = [{ path: 'name', before: null, after: 'Rex', effect: 'create' }];

export function previewOf(operation: string, plan: Record<string, unknown> = {}) {
  const target = { kind: 'thing', id: '(assigned on execution)', name: 'a thing' };
  const rest = { changes: oneChange, warnings: [], irreversible: false, fingerprint: 'f1f2f3' };
  return { dry_run: true, plan: { operation, target, ...rest, ...plan } };
}

export function answerOf(entry: Pick<ContractEntry, 'shape'>): unknown {
  return sample(entry.shape.answer.toJSONSchema({ io: 'input', unrepresentable: 'any' }) as JsonSchema);
}

const scalars: Record<string, unknown> = { integer: 1, number: 1, boolean: true, null: null };
const texts: Record<string, string> = {
  uuid: '0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c',
  'date-time': '2031-05-01T12:00:00.000Z',
};

function sample(schema: JsonSchema): unknown {
  if ('const' in schema) return schema.const;
  if (Array.isArray(schema.enum)) return schema.enum[0];
  const options = (schema.anyOf ?? schema.oneOf) as JsonSchema[] | undefined;
  if (options?.[0] !== undefined) return sample(options[0]);
  const type = String(Array.isArray(schema.type) ? schema.type[0] : schema.type);
  if (type === 'array') return schema.items === undefined ? [] : [sample(schema.items as JsonSchema)];
  if (type !== 'object') return type in scalars ? scalars[type] : (texts[String(schema.format)] ?? 'text');
  const properties = Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>);
  return Object.fromEntries(properties.map(([name, property]) => [name, sample(property)]));
}
