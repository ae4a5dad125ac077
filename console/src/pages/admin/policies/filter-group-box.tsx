import { ActionIcon, Button, Checkbox, Group, Paper, SegmentedControl, Stack, Text } from '@mantine/core';
import { groupDepthMax } from '@svc/contract/rows.ts';
import { IconPlus, IconX } from '@tabler/icons-react';
import { FilterTestRow } from './filter-test-row.tsx';
import { type FilterGroup, type FilterPart, newGroup, newTest } from './row-filter.ts';

/** Conditions and groups that must hold together, or one of which must. */
export function FilterGroupBox({
  group,
  place,
  depth,
  onChange,
  onRemove,
}: {
  group: FilterGroup;
  /** Empty for the whole filter; `group 1.2` for one inside. */
  place: string;
  depth: number;
  onChange: (group: FilterGroup) => void;
  onRemove?: () => void;
}) {
  const name = place === '' ? 'the filter' : place;
  const setPart = (at: number, part: FilterPart) => onChange({ ...group, parts: group.parts.with(at, part) });
  const remove = (at: number) => onChange({ ...group, parts: group.parts.toSpliced(at, 1) });
  const add = (part: FilterPart) => onChange({ ...group, parts: [...group.parts, part] });
  const numberOf = (at: number) => (place === '' ? `${at + 1}` : `${place.replace('group ', '')}.${at + 1}`);
  return (
    <Paper
      withBorder
      p={{ base: 'xs', sm: 'sm' }}
      radius="md"
      role="group"
      aria-label={`Conditions of ${name}`}
    >
      <Stack gap="sm">
        <Group gap="sm">
          <SegmentedControl
            aria-label={`How the conditions of ${name} join`}
            size="xs"
            data={[
              { value: 'and', label: 'All hold' },
              { value: 'or', label: 'Any holds' },
            ]}
            value={group.kind}
            onChange={(kind) => onChange({ ...group, kind: kind === 'or' ? 'or' : 'and' })}
          />
          <Checkbox
            label="not"
            aria-label={`not: negate ${name}`}
            size="xs"
            checked={group.negated}
            onChange={(event) => onChange({ ...group, negated: event.currentTarget.checked })}
          />
          {onRemove && (
            <ActionIcon
              variant="subtle"
              color="gray"
              ml="auto"
              onClick={onRemove}
              aria-label={`Remove ${name}`}
            >
              <IconX size={16} aria-hidden />
            </ActionIcon>
          )}
        </Group>
        {group.parts.length === 0 && (
          <Text size="sm" c="dimmed">
            {place === '' ? 'No condition: all rows.' : 'No condition yet.'}
          </Text>
        )}
        {group.parts.map((part, at) =>
          part.kind === 'test' ? (
            <FilterTestRow
              key={part.key}
              test={part}
              place={`condition ${numberOf(at)}`}
              onChange={(next) => setPart(at, next)}
              onRemove={() => remove(at)}
            />
          ) : (
            <FilterGroupBox
              key={part.key}
              group={part}
              place={`group ${numberOf(at)}`}
              depth={depth + 1}
              onChange={(next) => setPart(at, next)}
              onRemove={() => remove(at)}
            />
          ),
        )}
        <Group gap="xs">
          <Button
            size="compact-sm"
            variant="default"
            leftSection={<IconPlus size={14} aria-hidden />}
            onClick={() => add(newTest())}
            aria-label={`Add condition to ${name}`}
          >
            Condition
          </Button>
          {depth < groupDepthMax && (
            <Button
              size="compact-sm"
              variant="default"
              leftSection={<IconPlus size={14} aria-hidden />}
              onClick={() => add(newGroup(group.kind === 'and' ? 'or' : 'and', [newTest()]))}
              aria-label={`Add group to ${name}`}
            >
              Group
            </Button>
          )}
        </Group>
      </Stack>
    </Paper>
  );
}
