import {
  ActionIcon,
  Checkbox,
  Group,
  Paper,
  SegmentedControl,
  Select,
  Stack,
  TagsInput,
  TextInput,
} from '@mantine/core';
import { type FilterOp, filterOps, groupDepthMax, type IsKeyword, isKeywords } from '@svc/contract/rows.ts';
import { IconPlus, IconX } from '@tabler/icons-react';
import { Hint, SmallButton } from '../../../components/text.tsx';
import { RemovableRow } from './columns-field.tsx';
import {
  type FilterGroup,
  type FilterPart,
  type FilterTest,
  newGroup,
  newTest,
  withOp,
} from './row-filter.ts';

export function FilterGroupBox({
  group,
  position,
  depth,
  onChange,
  onRemove,
}: {
  group: FilterGroup;
  position: string;
  depth: number;
  onChange: (group: FilterGroup) => void;
  onRemove?: () => void;
}) {
  const name = position === '' ? 'the filter' : position;
  const setPart = (at: number, part: FilterPart) => onChange({ ...group, parts: group.parts.with(at, part) });
  const remove = (at: number) => onChange({ ...group, parts: group.parts.toSpliced(at, 1) });
  const add = (part: FilterPart) => onChange({ ...group, parts: [...group.parts, part] });
  const numberOf = (at: number) =>
    position === '' ? `${at + 1}` : `${position.replace('group ', '')}.${at + 1}`;
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
              { value: 'and', label: 'All match' },
              { value: 'or', label: 'Any matches' },
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
          <Hint>{position === '' ? 'No condition: all rows are visible.' : 'No condition yet.'}</Hint>
        )}
        {group.parts.map((part, at) =>
          part.kind === 'test' ? (
            <FilterTestRow
              key={part.key}
              test={part}
              position={`condition ${numberOf(at)}`}
              onChange={(next) => setPart(at, next)}
              onRemove={() => remove(at)}
            />
          ) : (
            <FilterGroupBox
              key={part.key}
              group={part}
              position={`group ${numberOf(at)}`}
              depth={depth + 1}
              onChange={(next) => setPart(at, next)}
              onRemove={() => remove(at)}
            />
          ),
        )}
        <Group gap="xs">
          <SmallButton
            leftSection={<IconPlus size={14} aria-hidden />}
            onClick={() => add(newTest())}
            aria-label={`Add condition to ${name}`}
          >
            Condition
          </SmallButton>
          {depth < groupDepthMax && (
            <SmallButton
              leftSection={<IconPlus size={14} aria-hidden />}
              onClick={() => add(newGroup(group.kind === 'and' ? 'or' : 'and', [newTest()]))}
              aria-label={`Add group to ${name}`}
            >
              Group
            </SmallButton>
          )}
        </Group>
      </Stack>
    </Paper>
  );
}

const opTexts: Record<FilterOp, string> = {
  eq: 'is (eq)',
  neq: 'is not (neq)',
  gt: 'greater than (gt)',
  gte: 'at least (gte)',
  lt: 'less than (lt)',
  lte: 'at most (lte)',
  in: 'one of (in)',
  is: 'is null, true … (is)',
  like: 'matches pattern (like)',
  ilike: 'matches, any case (ilike)',
  sw: 'starts with (sw)',
  ew: 'ends with (ew)',
  has: 'contains (has)',
  isw: 'starts, any case (isw)',
  iew: 'ends, any case (iew)',
  ihas: 'contains, any case (ihas)',
  between: 'between (between)',
  cs: 'JSON contains (cs)',
  cd: 'JSON within (cd)',
  hk: 'JSON has key (hk)',
  ov: 'list has one of (ov)',
};

const opData = filterOps.map((value) => ({ value, label: opTexts[value] }));

function FilterTestRow({
  test,
  position,
  onChange,
  onRemove,
}: {
  test: FilterTest;
  position: string;
  onChange: (test: FilterTest) => void;
  onRemove: () => void;
}) {
  return (
    <RemovableRow position={position} onRemove={onRemove}>
      <TextInput
        aria-label={`Column of ${position}`}
        placeholder="column"
        value={test.column}
        // The text of a filter cannot name a column that contains =.
        onChange={(event) => onChange({ ...test, column: event.currentTarget.value.replaceAll('=', '') })}
        size="sm"
        flex="1 1 120px"
        classNames={{ input: 'mono' }}
        maxLength={128}
      />
      <Checkbox
        label="not"
        aria-label={`not: negate ${position}`}
        checked={test.negated}
        onChange={(event) => onChange({ ...test, negated: event.currentTarget.checked })}
        size="sm"
      />
      <Select
        aria-label={`Operator of ${position}`}
        data={opData}
        value={test.op}
        onChange={(op) => op && onChange(withOp(test, op as FilterOp))}
        allowDeselect={false}
        searchable
        size="sm"
        flex="0 1 190px"
      />
      <FilterValue test={test} position={position} onChange={(values) => onChange({ ...test, values })} />
    </RemovableRow>
  );
}

function FilterValue({
  test,
  position,
  onChange,
}: {
  test: FilterTest;
  position: string;
  onChange: (values: string[]) => void;
}) {
  const [first = '', second = ''] = test.values;
  const shared = { size: 'sm', flex: '2 1 140px', miw: 0 } as const;
  switch (test.op) {
    case 'is':
      return (
        <Select
          {...shared}
          aria-label={`Value of ${position}`}
          data={isKeywords.map((value) => ({ value, label: isTexts[value] }))}
          value={first}
          onChange={(next) => next && onChange([next])}
          allowDeselect={false}
        />
      );
    case 'in':
      return (
        <TagsInput
          {...shared}
          aria-label={`Values of ${position}`}
          placeholder="Enter adds a value"
          value={test.values}
          onChange={onChange}
          splitChars={[]}
          isDuplicate={(value, values) => values.includes(value)}
        />
      );
    case 'between':
      return (
        <Group gap="xs" flex="2 1 200px" wrap="nowrap">
          <TextInput
            aria-label={`Lowest value of ${position}`}
            placeholder="from"
            size="sm"
            flex={1}
            value={first}
            onChange={(event) => onChange([event.currentTarget.value, second])}
          />
          <TextInput
            aria-label={`Highest value of ${position}`}
            placeholder="to"
            size="sm"
            flex={1}
            value={second}
            onChange={(event) => onChange([first, event.currentTarget.value])}
          />
        </Group>
      );
    default:
      return (
        <TextInput
          {...shared}
          aria-label={`Value of ${position}`}
          placeholder={test.op === 'like' || test.op === 'ilike' ? 'pattern with * and _' : 'value'}
          value={first}
          onChange={(event) => onChange([event.currentTarget.value])}
        />
      );
  }
}

const isTexts: Record<IsKeyword, string> = {
  null: 'null',
  not_null: 'not null',
  true: 'true',
  false: 'false',
};
