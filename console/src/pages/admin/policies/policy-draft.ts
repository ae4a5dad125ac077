import type { getPolicy, maskKinds } from '@svc/contract/access-policies.ts';
import type { Answer } from '@svc/contract/endpoint.ts';
import { resourcePathPattern } from '@svc/contract/grants.ts';
import type { PolicyColumns } from './columns-field.tsx';
import { parseFilter } from './row-filter.ts';

export type Policy = Answer<NonNullable<typeof getPolicy.shape>>;

export interface PolicyDraft {
  name: string;
  description: string;
  connector_id: string;
  resource_path: string;
  actions: string[];
  row_filter: string;
  columns: PolicyColumns;
  masks: Mask[];
  enabled: boolean;
  enforced: boolean;
}

export const emptyPolicy: PolicyDraft = {
  name: '',
  description: '',
  connector_id: '',
  resource_path: '',
  actions: ['read'],
  row_filter: '',
  columns: { mode: 'all', names: [] },
  masks: [],
  enabled: true,
  enforced: false,
};

export function policyDraft(policy: Policy): PolicyDraft {
  return {
    name: policy.name,
    description: policy.description,
    connector_id: policy.connector_id,
    resource_path: policy.resource_path,
    actions: policy.actions,
    row_filter: policy.row_filter,
    columns: policy.columns,
    masks: policy.masks.map((mask) => ({ ...mask, args: mask.args as MaskArgs })),
    enabled: policy.enabled,
    enforced: policy.enforced,
  };
}

export function policyBody(draft: PolicyDraft): PolicyDraft {
  return draft.columns.mode === 'all' ? { ...draft, columns: { mode: 'all', names: [] } } : draft;
}

export function policyErrors({ name, actions, resource_path, row_filter, masks, columns }: PolicyDraft) {
  const isPath = resource_path === '' || resourcePathPattern.test(resource_path);
  return {
    name: name.trim() === '' ? 'must not be empty' : null,
    actions: actions.length === 0 ? 'must contain at least one' : null,
    resource_path: isPath ? null : 'must be schema or schema/table',
    masks: masksError(masks, columns),
    row_filter: parseFilter(row_filter).fault,
  };
}

export type MaskKind = (typeof maskKinds)[number];
type MaskArgs = Record<string, string | number | boolean>;
export interface Mask {
  column: string;
  kind: MaskKind;
  args: MaskArgs;
}

export const maskTexts: Record<MaskKind, string> = {
  redact: 'redact: letters become x, digits 0',
  hash: 'hash: equal values stay equal',
  partial: 'partial: some characters stay',
  constant: 'constant: a fixed text replaces it',
  null: 'null: there is no value',
  email: 'email: the first letter and the domain stay',
  round: 'round: numbers are rounded',
  truncate: 'truncate: times keep the year, month or day',
};

const defaultArgs: Record<MaskKind, MaskArgs> = {
  redact: {},
  hash: {},
  partial: { first: 2, last: 2 },
  constant: { value: '***' },
  null: {},
  email: {},
  round: { to: 100 },
  truncate: { unit: 'month' },
};

export function withMaskKind(mask: Mask, kind: MaskKind): Mask {
  return { ...mask, kind, args: defaultArgs[kind] };
}

/** Arguments without an input are preserved: another client may have set them. */
export function otherArgs({ kind, args }: Mask): MaskArgs {
  return Object.fromEntries(Object.entries(args).filter(([name]) => !(name in defaultArgs[kind])));
}

export function masksError(masks: readonly Mask[], columns: { mode: string; names: readonly string[] }) {
  const names = masks.map(({ column }) => column);
  if (names.includes('')) return 'A mask has no column.';
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) return `${twice} is masked twice.`;
  const hidden = names.find((name) =>
    columns.mode === 'allow'
      ? !columns.names.includes(name)
      : columns.mode === 'deny' && columns.names.includes(name),
  );
  return hidden === undefined ? null : `${hidden} is hidden, so it cannot be masked.`;
}
