import { Badge, Group, Text } from '@mantine/core';
import type { listEnv } from '@svc/contract/deployments.ts';
import type { Answer } from '@svc/contract/endpoint.ts';
import { DataTable } from '../../../parts/data-table.tsx';
import { MayButton } from '../../../parts/may-button.tsx';
import { TimeText } from '../../../parts/time-text.tsx';
import { usePersonNames } from '../use-person-names.ts';
import type { EnvDraft } from './env-draft.ts';

type EnvVariable = Answer<NonNullable<typeof listEnv.shape>>['items'][number];

export function EnvTable({
  items,
  draft,
  cannot,
  change,
  remove,
}: {
  items: readonly EnvVariable[];
  draft: EnvDraft;
  /** Why nothing can be changed; null: it can. */
  cannot: string | null;
  change: (name: string) => void;
  remove: (name: string) => void;
}) {
  const nameOf = usePersonNames();
  const isRemoved = (name: string) => draft.removed.includes(name);
  const isTyped = (name: string) => draft.rows.some((row) => row.name === name);
  return (
    <DataTable
      label="Variables"
      minWidth={440}
      highlightOnHover={false}
      verticalSpacing="xs"
      rows={items}
      keyOf={({ name }) => name}
      columns={[
        {
          head: 'Name',
          cell: ({ name }) => (
            <Group gap="xs">
              <Text span className="mono" td={isRemoved(name) ? 'line-through' : undefined}>
                {name}
              </Text>
              {isRemoved(name) && (
                <Badge color="red" variant="light" tt="none">
                  will be removed
                </Badge>
              )}
              {isTyped(name) && (
                <Badge color="blue" variant="light" tt="none">
                  will change
                </Badge>
              )}
            </Group>
          ),
        },
        { head: 'Changed', cell: (variable) => <TimeText value={variable.updated_at} /> },
        { head: 'By', cell: (variable) => nameOf(variable.updated_by) ?? 'somebody' },
        {
          head: 'Actions',
          cell: ({ name }) => (
            <Group gap="xs" wrap="nowrap">
              <MayButton
                size="compact-sm"
                variant="default"
                why={cannot ?? (isTyped(name) ? 'Type its new value below.' : null)}
                onClick={() => change(name)}
                aria-label={`Change ${name}`}
              >
                Change
              </MayButton>
              <MayButton
                size="compact-sm"
                variant="default"
                why={cannot}
                onClick={() => remove(name)}
                aria-label={isRemoved(name) ? `Keep ${name}` : `Remove ${name}`}
              >
                {isRemoved(name) ? 'Keep' : 'Remove'}
              </MayButton>
            </Group>
          ),
        },
      ]}
    />
  );
}
