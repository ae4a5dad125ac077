import { Code, Group, Stack, Text, Title } from '@mantine/core';

/** What the app finds in its environment without anybody's doing. */
export function PlatformEnv({ names }: { names: readonly string[] }) {
  if (names.length === 0) return null;
  return (
    <Stack gap="xs">
      <Title order={3} size="h5">
        Given by the platform
      </Title>
      <Group gap="xs">
        {names.map((name) => (
          <Code key={name}>{name}</Code>
        ))}
      </Group>
      <Text size="sm" c="dimmed">
        The app finds these as well. Where one of them may be set, what you set goes before it.
      </Text>
    </Stack>
  );
}
