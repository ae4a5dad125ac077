import { Badge, Group, Stack, Table, Text } from '@mantine/core';
import { deletePreset, listPresets } from '@svc/contract/presets.ts';
import { useLocation } from 'wouter';
import { useTenant } from '../../../api/me.ts';
import { useAnswer } from '../../../api/use-answer.ts';
import { useChange } from '../../../change/use-change.ts';
import { AnswerView } from '../../../parts/answer-view.tsx';
import { Pager } from '../../../parts/pager.tsx';
import { PastTheEnd } from '../../../parts/past-the-end.tsx';
import { ProblemAlert } from '../../../parts/problem-alert.tsx';
import { usePage } from '../../../parts/use-search-value.ts';
import { adminPath } from '../admin-path.ts';
import { ListHead } from '../list-head.tsx';
import { RowButton } from '../row-button.tsx';

const builtIn = 'It is built in and the same in every tenant. Create a preset of your own for another set.';

export function PresetList() {
  const tenant = useTenant();
  const [, go] = useLocation();
  const page = usePage();
  const params = { tenantID: tenant.id };
  const answer = useAnswer(listPresets, { params, query: { page } });
  const remove = useChange(deletePreset, {
    title: 'Delete a preset',
    verb: 'Delete',
    done: 'The preset is deleted.',
  });
  const path = (part: string) => adminPath(tenant.slug, 'presets', part);
  return (
    <AnswerView answer={answer}>
      {({ items, page: shown, per_page: perPage, total }) =>
        items.length === 0 && shown > 1 ? (
          <PastTheEnd />
        ) : (
          <>
            <ListHead to={path('new')} label="New preset" />
            {remove.problem !== null && <ProblemAlert error={remove.problem} />}
            <Table.ScrollContainer minWidth={620}>
              <Table highlightOnHover verticalSpacing="sm" aria-label="Presets">
                <Table.Thead>
                  <Table.Tr>
                    <Table.Th>Preset</Table.Th>
                    <Table.Th>Allows</Table.Th>
                    <Table.Th>Origin</Table.Th>
                    <Table.Th>Actions</Table.Th>
                  </Table.Tr>
                </Table.Thead>
                <Table.Tbody>
                  {items.map((preset) => {
                    const why = preset.built_in ? builtIn : null;
                    const name = `preset ${preset.name}`;
                    return (
                      <Table.Tr key={preset.id}>
                        <Table.Td>
                          <Stack gap={0}>
                            <Text fw={600}>{preset.name}</Text>
                            {preset.description && (
                              <Text size="sm" c="dimmed">
                                {preset.description}
                              </Text>
                            )}
                          </Stack>
                        </Table.Td>
                        <Table.Td>
                          <Group gap={4}>
                            {preset.actions.map((action) => (
                              <Badge key={action} variant="default" radius="sm" tt="none">
                                {action}
                              </Badge>
                            ))}
                          </Group>
                        </Table.Td>
                        <Table.Td>{preset.built_in ? 'built in' : 'this tenant'}</Table.Td>
                        <Table.Td>
                          <Group gap="xs" wrap="nowrap">
                            <RowButton
                              verb="Edit"
                              name={name}
                              why={why}
                              onClick={() => go(path(preset.id))}
                            />
                            <RowButton
                              verb="Delete"
                              name={name}
                              why={why}
                              onClick={() =>
                                void remove.propose({ params: { ...params, presetID: preset.id } })
                              }
                            />
                          </Group>
                        </Table.Td>
                      </Table.Tr>
                    );
                  })}
                </Table.Tbody>
              </Table>
            </Table.ScrollContainer>
            <Pager page={shown} perPage={perPage} total={total} />
          </>
        )
      }
    </AnswerView>
  );
}
