import { Badge, Group, Table, Text } from '@mantine/core';
import type { listEnv } from '@svc/contract/deployments.ts';
import type { Answer } from '@svc/contract/endpoint.ts';
import { MayButton } from '../../../parts/may-button.tsx';
import { TimeText } from '../../../parts/time-text.tsx';
import { useNames } from '../use-names.ts';
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
  const nameOf = useNames();
  return (
    <Table.ScrollContainer minWidth={440}>
      <Table verticalSpacing="xs" aria-label="Variables">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Name</Table.Th>
            <Table.Th>Changed</Table.Th>
            <Table.Th>By</Table.Th>
            <Table.Th>Actions</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {items.map(({ name, updated_at, updated_by }) => {
            const isRemoved = draft.removed.includes(name);
            const isTyped = draft.rows.some((row) => row.name === name);
            return (
              <Table.Tr key={name}>
                <Table.Td>
                  <Group gap="xs">
                    <Text span className="mono" td={isRemoved ? 'line-through' : undefined}>
                      {name}
                    </Text>
                    {isRemoved && (
                      <Badge color="red" variant="light" tt="none">
                        will be removed
                      </Badge>
                    )}
                    {isTyped && (
                      <Badge color="blue" variant="light" tt="none">
                        will change
                      </Badge>
                    )}
                  </Group>
                </Table.Td>
                <Table.Td>
                  <TimeText value={updated_at} />
                </Table.Td>
                <Table.Td>{nameOf(updated_by) ?? 'somebody'}</Table.Td>
                <Table.Td>
                  <Group gap="xs" wrap="nowrap">
                    <MayButton
                      size="compact-sm"
                      variant="default"
                      why={cannot ?? (isTyped ? 'Type its new value below.' : null)}
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
                      aria-label={isRemoved ? `Keep ${name}` : `Remove ${name}`}
                    >
                      {isRemoved ? 'Keep' : 'Remove'}
                    </MayButton>
                  </Group>
                </Table.Td>
              </Table.Tr>
            );
          })}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}
