import { Checkbox, Group, Select, TagsInput, TextInput } from '@mantine/core';
import { type FilterOp, filterOps, isKeywords } from '@svc/contract/rows.ts';
import { isTexts, opTexts } from './filter-texts.ts';
import { RemovableRow } from './removable-row.tsx';
import { type FilterTest, withOp } from './row-filter.ts';

const opData = filterOps.map((value) => ({ value, label: opTexts[value] }));

/** One condition: column, operator, value. `place` tells it apart from the others: “condition 2 of group 1”. */
export function FilterTestRow({
  test,
  place,
  onChange,
  onRemove,
}: {
  test: FilterTest;
  place: string;
  onChange: (test: FilterTest) => void;
  onRemove: () => void;
}) {
  return (
    <RemovableRow place={place} onRemove={onRemove}>
      <TextInput
        aria-label={`Column of ${place}`}
        placeholder="column"
        value={test.column}
        onChange={(event) => onChange({ ...test, column: event.currentTarget.value })}
        size="sm"
        flex="1 1 120px"
        classNames={{ input: 'mono' }}
        maxLength={128}
      />
      <Checkbox
        label="not"
        aria-label={`not: negate ${place}`}
        checked={test.negated}
        onChange={(event) => onChange({ ...test, negated: event.currentTarget.checked })}
        size="sm"
      />
      <Select
        aria-label={`Operator of ${place}`}
        data={opData}
        value={test.op}
        onChange={(op) => op && onChange(withOp(test, op as FilterOp))}
        allowDeselect={false}
        searchable
        size="sm"
        flex="0 1 190px"
      />
      <FilterValue test={test} place={place} onChange={(values) => onChange({ ...test, values })} />
    </RemovableRow>
  );
}

function FilterValue({
  test,
  place,
  onChange,
}: {
  test: FilterTest;
  place: string;
  onChange: (values: string[]) => void;
}) {
  const [first = '', second = ''] = test.values;
  const shared = { size: 'sm', flex: '2 1 140px', miw: 0 } as const;
  switch (test.op) {
    case 'is':
      return (
        <Select
          {...shared}
          aria-label={`Value of ${place}`}
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
          aria-label={`Values of ${place}`}
          placeholder="Enter ends each value"
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
            aria-label={`Lowest value of ${place}`}
            placeholder="from"
            size="sm"
            flex={1}
            value={first}
            onChange={(event) => onChange([event.currentTarget.value, second])}
          />
          <TextInput
            aria-label={`Highest value of ${place}`}
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
          aria-label={`Value of ${place}`}
          placeholder={test.op === 'like' || test.op === 'ilike' ? 'pattern with * and _' : 'value'}
          value={first}
          onChange={(event) => onChange([event.currentTarget.value])}
        />
      );
  }
}
