import { ActionIcon, Group } from '@mantine/core';
import { IconX } from '@tabler/icons-react';
import type { ReactNode } from 'react';

/** The fields of one of several, and the way to have one less. `place` tells it apart: “mask 2”. */
export function RemovableRow({
  place,
  onRemove,
  children,
}: {
  place: string;
  onRemove: () => void;
  children: ReactNode;
}) {
  return (
    <Group gap="xs" wrap="nowrap" role="group" aria-label={place}>
      <Group gap="xs" flex={1} miw={0}>
        {children}
      </Group>
      <ActionIcon variant="subtle" color="gray" onClick={onRemove} aria-label={`Remove ${place}`}>
        <IconX size={16} aria-hidden />
      </ActionIcon>
    </Group>
  );
}
