import { Group, Paper, SimpleGrid, Stack, Text, ThemeIcon, Title } from '@mantine/core';
import { IconGitFork, IconSquarePlus, IconTemplate } from '@tabler/icons-react';
import { useLocation } from 'wouter';
import { LinkTo } from '../../parts/link-to.tsx';
import type { Way } from './ways.ts';

const cards: readonly { way: Way; title: string; says: string; icon: typeof IconTemplate }[] = [
  {
    way: 'template',
    title: 'From a template',
    says: 'A repository with code that works, connected and deployed. It runs within a minute.',
    icon: IconTemplate,
  },
  {
    way: 'empty',
    title: 'An empty app',
    says: 'An address, tables and storage of its own. You deploy to it what you have.',
    icon: IconSquarePlus,
  },
  {
    way: 'fork',
    title: 'A fork',
    says: 'The code and settings of an app that you see, never its rows, secrets or people.',
    icon: IconGitFork,
  },
];

export function WayCards() {
  const [here] = useLocation();
  return (
    <SimpleGrid cols={{ base: 1, sm: 3 }}>
      {cards.map(({ way, title, says, icon: Icon }) => (
        <Paper key={way} withBorder p="lg" className="covered">
          <Stack gap="sm">
            <Group gap="sm" wrap="nowrap">
              <ThemeIcon variant="light" size="lg" aria-hidden>
                <Icon size={20} />
              </ThemeIcon>
              <Title order={2} size="h4">
                <LinkTo to={`${here}?way=${way}`} inherit className="cover">
                  {title}
                </LinkTo>
              </Title>
            </Group>
            <Text size="sm">{says}</Text>
          </Stack>
        </Paper>
      ))}
    </SimpleGrid>
  );
}
