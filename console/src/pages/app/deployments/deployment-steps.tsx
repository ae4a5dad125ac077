import { Group, Loader, Paper, SimpleGrid, Stack, Text, ThemeIcon } from '@mantine/core';
import { IconCheck, IconMinus, IconPlayerStop, IconX } from '@tabler/icons-react';
import { durationText, type Phase } from './deployment-phases.ts';

const colors: Record<Phase['state'], string> = {
  ...{ done: 'green', active: 'blue', failed: 'red', stopped: 'gray', waiting: 'gray' },
};
const said: Record<Phase['state'], string> = {
  ...{ done: 'done', active: 'under way', failed: 'failed', stopped: 'stopped', waiting: 'not yet' },
};

/** How far it has come. */
export function DeploymentSteps({ phases }: { phases: readonly Phase[] }) {
  return (
    <SimpleGrid component="ol" cols={{ base: 1, xs: 2, md: 4 }} spacing="sm" p={0} m={0}>
      {phases.map(({ title, state, says, ms }) => (
        <Paper
          key={title}
          component="li"
          withBorder
          p="sm"
          style={{ listStyle: 'none' }}
          aria-current={state === 'active' ? 'step' : undefined}
        >
          <Group gap="sm" wrap="nowrap" align="flex-start">
            <ThemeIcon variant="light" color={colors[state]} radius="xl" size={28}>
              <StepIcon state={state} />
            </ThemeIcon>
            <Stack gap={0}>
              <Text fw={600}>{title}</Text>
              <Text size="sm" c="dimmed">
                {says ?? said[state]}
                {ms !== null && `, ${durationText(ms)}`}
              </Text>
            </Stack>
          </Group>
        </Paper>
      ))}
    </SimpleGrid>
  );
}

function StepIcon({ state }: { state: Phase['state'] }) {
  if (state === 'active') return <Loader size={16} aria-hidden />;
  const Icon = { done: IconCheck, failed: IconX, stopped: IconPlayerStop, waiting: IconMinus }[state];
  return <Icon size={16} aria-hidden />;
}
