import { Group, Stack, Text, Title } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import type { ReactNode } from 'react';

export interface PageHeadProps {
  title: string;
  /** Which part of it is shown, for the browser's tab. */
  part?: string;
  /** One line below it. */
  lead?: ReactNode;
  /** Before the title: an icon, a picture. */
  mark?: ReactNode;
  /** On the right: the page's own buttons. */
  actions?: ReactNode;
}

/** The one `h1` of a page; it names the browser's tab as well. */
export function PageHead({ title, part, lead, mark, actions }: PageHeadProps) {
  useDocumentTitle(part ? `${part} · ${title} · svc` : `${title} · svc`);
  return (
    <Group justify="space-between" align="flex-start" mb="lg" gap="md">
      <Group gap="md" wrap="nowrap" miw={0}>
        {mark}
        <Stack gap={2} miw={0}>
          <Title order={1} size="h2">
            {title}
          </Title>
          {lead && (
            <Text component="div" c="dimmed">
              {lead}
            </Text>
          )}
        </Stack>
      </Group>
      {actions && <Group gap="sm">{actions}</Group>}
    </Group>
  );
}
