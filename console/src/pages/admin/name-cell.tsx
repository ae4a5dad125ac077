import { Stack, Text } from '@mantine/core';
import { LinkTo } from '../../parts/link-to.tsx';

/** What a row of a list is called, which leads to it, and what is said of it. */
export function NameCell({ to, name, description }: { to: string; name: string; description: string }) {
  return (
    <Stack gap={0}>
      <LinkTo to={to} fw={600}>
        {name}
      </LinkTo>
      {description && (
        <Text size="sm" c="dimmed" lineClamp={2}>
          {description}
        </Text>
      )}
    </Stack>
  );
}
