import { roundToMax, truncateUnits } from '@svc/contract/access-policies.ts';
import type { Foreseen, TenantMutationCtx } from '../../core/context.ts';
import type { PolicyRow } from '../access-events.ts';
import type { PolicyFields } from './store.ts';

export function auditedFields(fields: PolicyFields): Record<string, unknown> {
  const { name, description, connector_id, resource_path, actions, row_filter, columns, masks } = fields;
  return {
    name,
    description,
    connector_id: connector_id ?? '',
    resource_path,
    actions,
    row_filter,
    columns,
    masks,
    enabled: fields.enabled,
    enforced: fields.enforced,
  };
}

export function hiddenMaskColumns(fields: PolicyFields): string[] {
  const { mode, names } = fields.columns;
  const hidden = (column: string) =>
    mode === 'allow' ? !names.includes(column) : mode === 'deny' && names.includes(column);
  return fields.masks.map((mask) => mask.column).filter(hidden);
}

export function duplicates(names: readonly string[]): string[] {
  return [...new Set(names.filter((name, index) => names.indexOf(name) !== index))];
}

/** `to` as for `round`. */
export const truncateUnit = ({ unit, to }: Record<string, unknown>) => unit ?? to;

export function maskArgsProblem({
  kind,
  args,
}: Pick<PolicyFields['masks'][number], 'kind' | 'args'>): string | null {
  const isCount = (value: unknown) =>
    value === undefined || (Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 1000);
  if (kind === 'partial' && !(isCount(args.first) && isCount(args.last)))
    return 'first and last of partial must be whole numbers from 0 to 1000';
  if (kind === 'round' && !(typeof args.to === 'number' && args.to > 0 && args.to <= roundToMax))
    return 'round needs `to`, a number above 0';
  if (kind === 'truncate' && !truncateUnits.some((unit) => unit === truncateUnit(args)))
    return `truncate needs \`unit\`: ${truncateUnits.join(', ')}`;
  return null;
}

const maskArgs: Readonly<Partial<Record<PolicyFields['masks'][number]['kind'], readonly string[]>>> = {
  partial: ['first', 'last'],
  constant: ['value', 'text'],
  round: ['to'],
  truncate: ['unit', 'to'],
};

export function unknownArgsProblem({
  kind,
  args,
}: Pick<PolicyFields['masks'][number], 'kind' | 'args'>): string | null {
  const known = maskArgs[kind] ?? [];
  const unknown = Object.keys(args).filter((name) => !known.includes(name));
  if (unknown.length === 0) return null;
  const takes = known.length === 0 ? 'no arguments' : known.join(' and ');
  return `${kind} takes ${takes}, not ${unknown.join(', ').slice(0, 100)}`;
}

export interface PolicyChange {
  before: PolicyRow | null;
  after: PolicyRow | null;
}

/** Tables belong to a later module, which sets `load` when it is opened. */
export interface PolicyEffects {
  load: (ctx: TenantMutationCtx, change: PolicyChange) => Promise<Foreseen>;
}

export const noPolicyEffects = (): PolicyEffects => ({ load: async () => ({ effects: [], leftOff: 0 }) });
