import type { getPolicy } from '@svc/contract/access-policies.ts';
import type { Answer } from '@svc/contract/endpoint.ts';
import { resourcePathPattern } from '@svc/contract/grants.ts';
import type { PolicyColumns } from './columns-field.tsx';
import { type Mask, type MaskArgs, masksFault } from './mask-args.ts';

export type PolicyRecord = Answer<NonNullable<typeof getPolicy.shape>>;

/** What the form holds: the fields of a policy that people set. */
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
};

export function draftOf(policy: PolicyRecord): PolicyDraft {
  const { name, description, connector_id, resource_path, actions, row_filter, columns, masks, enabled } =
    policy;
  return {
    ...{ name, description, connector_id, resource_path, actions, row_filter, columns, enabled },
    masks: masks.map((mask) => ({ ...mask, args: mask.args as MaskArgs })),
  };
}

/** Names of columns that are all seen say nothing; they are not sent. */
export function bodyOf(draft: PolicyDraft): PolicyDraft {
  return draft.columns.mode === 'all' ? { ...draft, columns: { mode: 'all', names: [] } } : draft;
}

/** Field by field what would be refused. */
export function faultsOf(draft: PolicyDraft): Partial<Record<keyof PolicyDraft, string>> {
  const masks = masksFault(draft.masks, draft.columns);
  return {
    ...(draft.name.trim() === '' ? { name: 'must not be empty' } : {}),
    ...(draft.actions.length === 0 ? { actions: 'must name at least one' } : {}),
    ...(draft.resource_path !== '' && !resourcePathPattern.test(draft.resource_path)
      ? { resource_path: 'must be schema or schema/table' }
      : {}),
    ...(masks === null ? {} : { masks }),
  };
}
