import { columnModes, maskKinds } from '@svc/contract/access-policies.ts';
import type { Flags, FlagValues } from '../command.ts';
import { usage } from '../errors.ts';
import { listed } from '../flag-value.ts';

/** The fields of an access policy as flags; `--from-file` gives them as a document that flags then override. */
export const policyFlags = {
  'from-file': {
    type: 'string',
    placeholder: 'path',
    summary: 'YAML or JSON with these fields; - reads standard input',
  },
  name: { type: 'string', summary: 'Its name' },
  description: { type: 'string', summary: 'What it is for; empty clears it' },
  connector: { type: 'string', placeholder: 'connector', summary: 'Connector id or slug; empty means any' },
  'resource-path': {
    type: 'string',
    placeholder: 'path',
    summary: 'schema or schema/table; empty means the whole connector',
  },
  actions: { type: 'list', placeholder: 'action', summary: 'Actions it applies to (read)' },
  'row-filter': {
    type: 'string',
    placeholder: 'filter',
    summary: 'Which rows, as the row API spells filters; empty means all',
  },
  'columns-mode': { type: 'enum', values: columnModes, summary: 'Whether --columns are allowed or denied' },
  columns: { type: 'list', placeholder: 'column', requires: ['columns-mode'], summary: 'Column names' },
  mask: {
    type: 'string',
    repeated: true,
    placeholder: 'column:kind[:json]',
    summary: `Hide a column's values: ${listed(maskKinds)}, with arguments as a JSON object`,
  },
  enabled: { type: 'boolean', summary: '--enabled=false keeps it without effect' },
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
}

const keptByServer = new Set([
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

export function policyBody(flags: FlagValues<typeof policyFlags>, file: Record<string, unknown>): PolicyBody {
  const given: Record<keyof PolicyBody, unknown> = {
    name: flags.name,
    description: flags.description,
    connector_id: flags.connector,
    resource_path: flags['resource-path'],
    actions: flags.actions,
    row_filter: flags['row-filter'],
    columns: flags['columns-mode'] && { mode: flags['columns-mode'], names: flags.columns ?? [] },
    masks: flags.mask?.map(parseMask),
    enabled: flags.enabled,
  };
  const set = Object.entries(given).filter(([, value]) => value !== undefined);
  // What the file holds is checked by the server, which knows all the rules and names the field. A policy as it was
  // printed is taken as well: what the server keeps about it is not for the file to say.
  const own = Object.entries(file).filter(([name]) => !keptByServer.has(name));
  return { ...Object.fromEntries(own), ...Object.fromEntries(set) } as PolicyBody;
}

/** Refuses masks that can not be read before anything is sent. */
export function checkMasks(flags: { mask?: string[] | undefined }): undefined {
  for (const text of flags.mask ?? []) parseMask(text);
}

/** `email:partial:{"keep":4}`: only the first two colons split. */
export function parseMask(text: string): Mask {
  const [, column, kind, json] = /^([^:]+):([^:]+)(?::(.*))?$/s.exec(text) ?? [];
  const known = maskKinds.find((it) => it === kind);
  if (column === undefined || known === undefined) {
    throw usage(
      `--mask takes column:kind or column:kind:{...}, where kind is ${listed(maskKinds)}; not ${JSON.stringify(text)}.`,
    );
  }
  return { column, kind: known, args: json === undefined ? {} : parseMaskArgs(json) };
}

function parseMaskArgs(json: string): Mask['args'] {
  try {
    const args: unknown = JSON.parse(json);
    if (typeof args === 'object' && args !== null && !Array.isArray(args)) return args as Mask['args'];
  } catch {
    // Told below, together with JSON that is no object.
  }
  throw usage(`--mask takes its arguments as a JSON object, not ${JSON.stringify(json)}.`);
}
