import { Group, Text } from '@mantine/core';
import { CopyButtonFor } from './copy-button-for.tsx';

/** Something people take elsewhere: an id, a record, an address. */
export function CopyText({
  value,
  label,
  size = 'sm',
}: {
  value: string;
  /** What it is, for who does not see it: `Copy request id`. */
  label: string;
  size?: 'xs' | 'sm';
}) {
  return (
    <Group gap={4} wrap="nowrap" maw="100%">
      <Text span size={size} className="mono" miw={0} style={{ overflowWrap: 'anywhere' }}>
        {value}
      </Text>
      <CopyButtonFor value={value} label={label} />
    </Group>
  );
}
