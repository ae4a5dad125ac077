import { Fieldset, SegmentedControl, Stack, TagsInput, Text } from '@mantine/core';
import { columnModes, policyColumnsMax } from '@svc/contract/access-policies.ts';

export interface PolicyColumns {
  mode: (typeof columnModes)[number];
  names: string[];
}

const labels: Record<PolicyColumns['mode'], string> = {
  all: 'All',
  allow: 'Only these',
  deny: 'All but these',
};

export function ColumnsField({
  columns,
  onChange,
  error,
}: {
  columns: PolicyColumns;
  onChange: (columns: PolicyColumns) => void;
  error?: string | undefined;
}) {
  return (
    <Fieldset legend="Columns">
      <Stack gap="sm" align="flex-start">
        <SegmentedControl
          aria-label="Which columns are seen"
          data={columnModes.map((value) => ({ value, label: labels[value] }))}
          value={columns.mode}
          onChange={(mode) => onChange({ ...columns, mode: mode as PolicyColumns['mode'] })}
        />
        {columns.mode === 'all' ? (
          <Text size="sm" c="dimmed">
            Every column is seen, those that are added later too.
          </Text>
        ) : (
          <TagsInput
            label={columns.mode === 'allow' ? 'Columns that are seen' : 'Columns that are hidden'}
            placeholder="Enter ends each name"
            value={columns.names}
            onChange={(names) => onChange({ ...columns, names })}
            maxTags={policyColumnsMax}
            splitChars={[',', ' ']}
            isDuplicate={(name, names) => names.includes(name)}
            error={error}
            w="100%"
          />
        )}
      </Stack>
    </Fieldset>
  );
}
