import { columnModes, maskKinds } from '@svc/contract/access-policies.ts';
import { isObject } from '@svc/contract/json.ts';
import type { Flags, FlagValues } from '../framework/declaration.ts';
import { usageError } from '../framework/errors.ts';
import { joinOr } from '../framework/text.ts';

export const policyFlagSummary =
  'Access policies that narrow the grant, by id or name; a name with a comma in double quotes';

export const policyFlags = {
  'from-file': {
    type: 'string',
    placeholder: 'path',
    summary: 'YAML or JSON with these fields; - reads standard input',
  },
  name: { type: 'string', summary: 'Name' },
  description: { type: 'string', summary: 'Description; empty clears it' },
  connector: { type: 'string', placeholder: 'connector', summary: 'Connector id or slug; empty for any' },
  'resource-path': {
    type: 'string',
    placeholder: 'path',
    summary: 'schema or schema/table; empty for the whole connector',
  },
  actions: { type: 'list', placeholder: 'action', summary: 'Actions that the policy applies to (read)' },
  'row-filter': {
    type: 'string',
    placeholder: 'filter',
    summary: 'Row filter, in the syntax of the row API; empty for all rows',
  },
  'columns-mode': { type: 'enum', values: columnModes, summary: 'Whether --columns are allowed or denied' },
  columns: { type: 'list', placeholder: 'column', requires: ['columns-mode'], summary: 'Column names' },
  mask: {
    type: 'string',
    repeated: true,
    placeholder: 'column:kind[:json]',
    summary: `Mask a column: ${joinOr(maskKinds)}, with arguments as a JSON object`,
  },
  enabled: { type: 'boolean', summary: '--enabled=false disables the policy' },
  enforced: {
    type: 'boolean',
    summary: 'Narrow the access of everybody, not only of grants that name the policy',
  },
} as const satisfies Flags;

export interface PolicyBody {
  name?: string;
  description?: string;
  connector_id?: string;
  resource_path?: string;
  actions?: string[];
  row_filter?: string;
  columns?: { mode: (typeof columnModes)[number]; names: string[] };
  masks?: Mask[];
  enabled?: boolean;
  enforced?: boolean;
}

const serverFields = new Set([
  'id',
  'tenant_id',
  'version',
  'created_by',
  'created_at',
  'updated_by',
  'updated_at',
]);

interface Mask {
  column: string;
  kind: (typeof maskKinds)[number];
  args: Record<string, string | number | boolean>;
}

export function policyBody(
  flags: Partial<FlagValues<typeof policyFlags>>,
  file: Record<string, unknown>,
): PolicyBody {
  const fields: Record<keyof PolicyBody, unknown> = {
    name: flags.name,
    description: flags.description,
    connector_id: flags.connector,
    resource_path: flags['resource-path'],
    actions: flags.actions,
    row_filter: flags['row-filter'],
    columns: flags['columns-mode'] && { mode: flags['columns-mode'], names: flags.columns ?? [] },
    masks: flags.mask?.map(parseMask),
    enabled: flags.enabled,
    enforced: flags.enforced,
  };
  const set = Object.entries(fields).filter(([, value]) => value !== undefined);
  // The server validates the file. The output of `policies get` is accepted: the server's own fields are dropped.
  const own = Object.entries(file).filter(([name]) => !serverFields.has(name));
  return { ...Object.fromEntries(own), ...Object.fromEntries(set) } as PolicyBody;
}

export function checkMasks(flags: { mask?: string[] | undefined }): undefined {
  for (const text of flags.mask ?? []) parseMask(text);
}

/** `email:partial:{"first":4}`: only the first two colons separate. */
export function parseMask(text: string): Mask {
  const [, column, kind, json] = /^([^:]+):([^:]+)(?::(.*))?$/s.exec(text) ?? [];
  const known = maskKinds.find((it) => it === kind);
  if (column === undefined || known === undefined) {
    throw usageError(
      `--mask takes column:kind or column:kind:{...}, where kind is ${joinOr(maskKinds)}; not ${JSON.stringify(text)}.`,
    );
  }
  return { column, kind: known, args: json === undefined ? {} : parseMaskArgs(json) };
}

function parseMaskArgs(json: string): Mask['args'] {
  try {
    const args: unknown = JSON.parse(json);
    if (isObject(args)) return args as Mask['args'];
  } catch {
    // Falls through to the error for JSON that is not an object.
  }
  throw usageError(`--mask takes its arguments as a JSON object, not ${JSON.stringify(json)}.`);
}
