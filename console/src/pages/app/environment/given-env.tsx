import { Code, Group, Stack, Text, Title } from '@mantine/core';

/** What the app finds in its environment beside what its owners have set. */
export function GivenEnv({ title, names, note }: { title: string; names: readonly string[]; note: string }) {
  if (names.length === 0) return null;
  return (
    <Stack gap="xs">
      <Title order={3} size="h5">
        {title}
      </Title>
      <Group gap="xs">
        {names.map((name) => (
          <Code key={name}>{name}</Code>
        ))}
      </Group>
      <Text size="sm" c="dimmed">
        {note}
      </Text>
    </Stack>
  );
}
