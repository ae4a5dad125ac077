import { Group, Text } from '@mantine/core';

export function Logo() {
  return (
    <Group gap={8} wrap="nowrap">
      <svg viewBox="0 0 24 24" width="26" height="26" fill="none" aria-hidden="true">
        <rect x="2" y="2" width="20" height="20" rx="6" fill="var(--mantine-primary-color-filled)" />
        <path
          d="M7.5 9.5 10 12l-2.5 2.5M12.5 15h4"
          stroke="#fff"
          strokeWidth="2"
          strokeLinecap="round"
          strokeLinejoin="round"
        />
      </svg>
      <Text fw={650}>svc</Text>
    </Group>
  );
}
