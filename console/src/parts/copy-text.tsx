import { ActionIcon, CopyButton, Group, Text, Tooltip } from '@mantine/core';
import { IconCheck, IconCopy } from '@tabler/icons-react';

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
      <CopyButton value={value}>
        {({ copied, copy }) => (
          <Tooltip label={copied ? 'Copied' : 'Copy'}>
            <ActionIcon variant="subtle" color="gray" size="sm" onClick={copy} aria-label={`Copy ${label}`}>
              {copied ? <IconCheck size={14} aria-hidden /> : <IconCopy size={14} aria-hidden />}
            </ActionIcon>
          </Tooltip>
        )}
      </CopyButton>
    </Group>
  );
}
