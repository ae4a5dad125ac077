import { Badge, Button, Group, Paper, Stack, Text, ThemeIcon } from '@mantine/core';
import type { Answer } from '@svc/contract/endpoint.ts';
import type { listNotifications } from '@svc/contract/notifications.ts';
import { LinkTo } from '../../parts/link-to.tsx';
import { TimeText } from '../../parts/time-text.tsx';
import { kindIcons } from './kind-icons.ts';

export type Notification = Answer<NonNullable<typeof listNotifications.shape>>['items'][number];

/** One thing that one was told, with the way to where it is to be seen. */
export function NotificationItem({ item, read }: { item: Notification; read: () => void }) {
  const isUnread = item.read_at === null;
  const { icon: Icon, color } = kindIcons[item.kind];
  return (
    <Paper withBorder p="md" component="li">
      <Group gap="md" wrap="nowrap" align="flex-start">
        <ThemeIcon variant="light" color={color} size="lg" aria-hidden>
          <Icon size={18} />
        </ThemeIcon>
        <Stack gap={4} style={{ flex: 1 }} miw={0}>
          <Group gap="xs">
            <LinkTo to={item.path} fw={isUnread ? 700 : 500}>
              {item.title}
            </LinkTo>
            {isUnread && (
              <Badge size="sm" variant="light" tt="none" radius="sm">
                unread
              </Badge>
            )}
          </Group>
          {item.text && <Text size="sm">{item.text}</Text>}
          <Group gap="md" justify="space-between">
            <Text size="sm" c="dimmed" component="div">
              <TimeText value={item.created_at} />
            </Text>
            {isUnread && (
              <Button
                size="compact-sm"
                variant="subtle"
                onClick={read}
                aria-label={`Mark as read: ${item.title}`}
              >
                Mark as read
              </Button>
            )}
          </Group>
        </Stack>
      </Group>
    </Paper>
  );
}
