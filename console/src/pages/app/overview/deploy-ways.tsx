import { Button, Paper, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import { type AppTab, consolePaths } from '@svc/contract/console-paths.ts';
import { IconFolderUp, IconGitBranch, IconTerminal2 } from '@tabler/icons-react';
import type { ComponentType } from 'react';
import { Link } from 'wouter';
import { CopyText } from '../../../parts/copy-text.tsx';
import { type AppView, useApp } from '../use-app.ts';

interface Way {
  title: string;
  text: string;
  icon: ComponentType<{ size?: number | string; 'aria-hidden'?: boolean }>;
  command?: string;
  leads?: { tab: AppTab; label: string };
}

/** For an app of which nothing is deployed yet. */
export function DeployWays() {
  const { app, tenant } = useApp();
  return (
    <Stack gap="sm">
      <Title order={2} size="h4">
        Deploy it for the first time
      </Title>
      <SimpleGrid cols={{ base: 1, sm: 3 }} spacing="md">
        {waysOf(app).map(({ title, text, icon: Icon, command, leads }) => (
          <Paper key={title} withBorder p="md">
            <Stack gap="xs" align="flex-start">
              <Icon size={24} aria-hidden />
              <Title order={3} size="h5">
                {title}
              </Title>
              <Text size="sm">{text}</Text>
              {command && <CopyText value={command} label="command" />}
              {leads && (
                <Button
                  component={Link}
                  href={consolePaths.app(tenant.slug, app.slug, leads.tab)}
                  variant="default"
                >
                  {leads.label}
                </Button>
              )}
            </Stack>
          </Paper>
        ))}
      </SimpleGrid>
    </Stack>
  );
}

function waysOf({ slug, deploy_method }: AppView): Way[] {
  return [
    {
      title: 'From a repository',
      text: 'Connect one, and each push to its branch is built and deployed.',
      icon: IconGitBranch,
      leads: { tab: 'deployments', label: 'Connect a repository' },
    },
    {
      title: 'From your machine',
      text: 'Send the folder you work in; it is built here.',
      icon: IconTerminal2,
      command: `svc deploy --app ${slug} --from-dir . --execute`,
    },
    deploy_method === 'static'
      ? {
          title: 'Files as they are',
          text: 'Upload what a build made, or files that need none.',
          icon: IconFolderUp,
          leads: { tab: 'releases', label: 'Upload files' },
        }
      : {
          title: 'Begin a svc.yaml',
          text: 'Says how the app is built, started and asked whether it is well, where that is not plain to see.',
          icon: IconFolderUp,
          command: 'svc init',
        },
  ];
}
