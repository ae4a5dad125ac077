import { Group, List, Loader, Stack, Text, ThemeIcon } from '@mantine/core';
import type { getBootstrap } from '@svc/contract/bootstrap.ts';
import type { Answer } from '@svc/contract/endpoint.ts';
import { IconCheck, IconPoint, IconX } from '@tabler/icons-react';

type Step = Answer<NonNullable<typeof getBootstrap.shape>>['steps'][number];

const texts: Readonly<Record<string, string>> = {
  authorize: 'Link your account at the git host',
  reserve_app: 'Make the app',
  create_repo: 'Make its repository',
  seed_repo: 'Put the first code into it',
  connect: 'Connect pushes with deployments',
  first_deploy: 'Deploy it for the first time',
};
const stateTexts: Readonly<Record<Step['state'], string>> = {
  waiting: 'not begun',
  running: 'under way',
  done: 'done',
  failed: 'failed',
};

export function RunSteps({ steps }: { steps: readonly Step[] }) {
  return (
    <List type="ordered" listStyleType="none" spacing="sm" center={false} aria-label="Steps">
      {steps.map((step) => (
        <List.Item key={step.name} icon={<Mark state={step.state} />}>
          <Stack gap={0}>
            <Group gap="xs">
              <Text fw={step.state === 'running' ? 600 : undefined}>{texts[step.name] ?? step.name}</Text>
              <Text size="sm" c="dimmed">
                {stateTexts[step.state]}
                {step.attempts > 1 && `, try ${step.attempts}`}
              </Text>
            </Group>
            {step.detail && (
              <Text size="sm" c="dimmed" className="mono">
                {step.detail}
              </Text>
            )}
          </Stack>
        </List.Item>
      ))}
    </List>
  );
}

function Mark({ state }: { state: Step['state'] }) {
  if (state === 'running') return <Loader size={22} aria-hidden />;
  const [color, Icon] =
    state === 'done'
      ? (['green', IconCheck] as const)
      : state === 'failed'
        ? (['red', IconX] as const)
        : (['gray', IconPoint] as const);
  return (
    <ThemeIcon size={22} radius="xl" variant="light" color={color} aria-hidden>
      <Icon size={14} />
    </ThemeIcon>
  );
}
