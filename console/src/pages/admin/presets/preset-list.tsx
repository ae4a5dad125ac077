import { Badge, Group, Stack, Text } from '@mantine/core';
import { deletePreset, listPresets } from '@svc/contract/presets.ts';
import { useLocation } from 'wouter';
import { useTenant } from '../../../api/me.ts';
import { useAnswer } from '../../../api/use-answer.ts';
import { useChange } from '../../../change/use-change.ts';
import { DataTable } from '../../../parts/data-table.tsx';
import { PagedList } from '../../../parts/paged-list.tsx';
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
    <PagedList answer={answer}>
      {(items) => (
        <>
          <ListHead to={path('new')} label="New preset" />
          {remove.problem !== null && <ProblemAlert error={remove.problem} />}
          <DataTable
            label="Presets"
            minWidth={620}
            rows={items}
            keyOf={({ id }) => id}
            columns={[
              {
                head: 'Preset',
                cell: ({ name, description }) => (
                  <Stack gap={0}>
                    <Text fw={600}>{name}</Text>
                    {description && (
                      <Text size="sm" c="dimmed">
                        {description}
                      </Text>
                    )}
                  </Stack>
                ),
              },
              {
                head: 'Allows',
                cell: ({ actions }) => (
                  <Group gap={4}>
                    {actions.map((action) => (
                      <Badge key={action} variant="default" radius="sm" tt="none">
                        {action}
                      </Badge>
                    ))}
                  </Group>
                ),
              },
              { head: 'Origin', cell: (preset) => (preset.built_in ? 'built in' : 'this tenant') },
              {
                head: 'Actions',
                cell: (preset) => {
                  const row = { name: `preset ${preset.name}`, why: preset.built_in ? builtIn : null };
                  const input = { params: { ...params, presetID: preset.id } };
                  return (
                    <Group gap="xs" wrap="nowrap">
                      <RowButton verb="Edit" {...row} onClick={() => go(path(preset.id))} />
                      <RowButton verb="Delete" {...row} onClick={() => void remove.propose(input)} />
                    </Group>
                  );
                },
              },
            ]}
          />
        </>
      )}
    </PagedList>
  );
}
