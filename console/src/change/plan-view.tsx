import { Alert, Badge, Code, Group, Stack, Table, Text, VisuallyHidden } from '@mantine/core';
import type { Plan, PlanChange } from '@svc/contract/plan.ts';
import { IconAlertTriangle } from '@tabler/icons-react';

const colors: Record<PlanChange['effect'], string> = { create: 'green', update: 'blue', delete: 'red' };

/** What the server says that would happen: never what this page believes. */
export function PlanView({ plan }: { plan: Plan }) {
  return (
    <Stack gap="sm">
      {plan.warnings.map((warning) => (
        <Alert key={warning} color="yellow" icon={<IconAlertTriangle aria-hidden />}>
          {warning}
        </Alert>
      ))}
      {plan.irreversible && (
        <Alert color="red" icon={<IconAlertTriangle aria-hidden />}>
          This can not be undone.
        </Alert>
      )}
      {plan.changes.length === 0 ? (
        <Text>Nothing would change.</Text>
      ) : (
        <Table.ScrollContainer minWidth={0}>
          <Table aria-label="Changes" verticalSpacing={6}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>What</Table.Th>
                <Table.Th>Change</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {plan.changes.map((change) => (
                <Table.Tr key={change.path}>
                  <Table.Td>
                    <Group gap={6} wrap="nowrap">
                      <Badge size="xs" variant="light" color={colors[change.effect]}>
                        {change.effect}
                      </Badge>
                      <Text span size="sm" className="mono">
                        {change.path}
                      </Text>
                    </Group>
                  </Table.Td>
                  <Table.Td>
                    <ChangeText change={change} />
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      )}
    </Stack>
  );
}

function ChangeText({ change: { before, after, effect } }: { change: PlanChange }) {
  return (
    <Text span size="sm">
      {effect !== 'create' && <Code>{shown(before)}</Code>}
      {effect === 'update' && (
        <>
          <VisuallyHidden>becomes</VisuallyHidden>
          <span aria-hidden> → </span>
        </>
      )}
      {effect !== 'delete' && <Code>{shown(after)}</Code>}
    </Text>
  );
}

const shownCharsMax = 300;

function shown(value: unknown): string {
  if (value === null || value === undefined) return 'none';
  const text = typeof value === 'string' ? value || '""' : JSON.stringify(value);
  return text.length > shownCharsMax ? `${text.slice(0, shownCharsMax)} …` : text;
}
