import { Badge, Button, Group, Paper, SegmentedControl, Stack, Text, ThemeIcon } from '@mantine/core';
import type { Answer } from '@svc/contract/endpoint.ts';
import { listNotifications, type NotificationKind, readNotifications } from '@svc/contract/notifications.ts';
import {
  IconAlertTriangle,
  IconChecklist,
  IconChecks,
  IconCircleCheck,
  IconCircleX,
  IconClockX,
  IconUserPlus,
  IconUserShare,
  IconWorldX,
} from '@tabler/icons-react';
import type { ComponentType } from 'react';
import { client } from '../../api/client.ts';
import { useTenant } from '../../api/me.ts';
import { useChange } from '../../change/use-change.ts';
import { ChangeButton } from '../../components/buttons.tsx';
import { TimeText } from '../../components/display.tsx';
import { EmptyState, LinkTo, PageHead } from '../../components/page-layout.tsx';
import { ProblemAlert } from '../../components/problem-alert.tsx';
import { CursorList, useCursorPages } from '../../components/query-view.tsx';
import { Hint } from '../../components/text.tsx';
import { useUrlChoice } from '../../components/url-state.ts';

const perPage = 30;

export default function NotificationsPage() {
  const params = { tenantID: useTenant().id };
  const [show, setShow] = useUrlChoice('show', 'all', ['all', 'unread']);
  const unread = show === 'unread' ? 'true' : 'false';
  const pages = useCursorPages([listNotifications.id, params, unread], (cursor, signal) =>
    client.call(listNotifications, { params, query: { unread, per_page: perPage, ...cursor } }, { signal }),
  );
  const read = useChange(readNotifications, {
    title: 'Mark as read',
    verb: 'Mark as read',
    done: 'Marked as read.',
  });
  const count = pages.first?.unread ?? 0;
  return (
    <>
      <PageHead
        title="Notifications"
        lead={pages.first && (count === 0 ? 'All notifications are read.' : `${count} unread`)}
        actions={
          <ChangeButton
            icon={IconChecks}
            why={count === 0 ? 'No unread notifications.' : null}
            change={read}
            input={{ params, body: { all: true } }}
          >
            Mark all as read
          </ChangeButton>
        }
      />
      <Stack>
        <Group>
          <SegmentedControl
            aria-label="Filter"
            data={[
              { value: 'all', label: 'All' },
              { value: 'unread', label: 'Unread' },
            ]}
            value={show}
            onChange={(value) => setShow(value === 'unread' ? 'unread' : 'all')}
          />
        </Group>
        <ProblemAlert error={read.problem} />
        <CursorList
          pages={pages}
          lines={5}
          empty={
            <EmptyState
              title={show === 'unread' ? 'No unread notifications' : 'No notifications yet'}
              command={`svc notifications list${show === 'unread' ? ' --unread' : ''}`}
            >
              You are notified of reviews, transferred apps, failed deployments and disconnected domains.
            </EmptyState>
          }
        >
          {(items) => (
            <Stack
              component="ul"
              gap="sm"
              m={0}
              p={0}
              aria-label="Notifications"
              style={{ listStyle: 'none' }}
            >
              {items.map((item) => (
                <NotificationItem
                  key={item.id}
                  item={item}
                  read={() => void read.propose({ params, body: { ids: [item.id] } })}
                />
              ))}
            </Stack>
          )}
        </CursorList>
      </Stack>
    </>
  );
}

type Notification = Answer<NonNullable<typeof listNotifications.shape>>['items'][number];

function NotificationItem({ item, read }: { item: Notification; read: () => void }) {
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
            <Hint component="div">
              <TimeText value={item.created_at} />
            </Hint>
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

interface KindIcon {
  icon: ComponentType<{ size?: number | string }>;
  color: string;
}

const requestIcon: KindIcon = { icon: IconChecklist, color: 'yellow' };
const approvedIcon: KindIcon = { icon: IconCircleCheck, color: 'green' };
const rejectedIcon: KindIcon = { icon: IconCircleX, color: 'red' };
const closedIcon: KindIcon = { icon: IconClockX, color: 'gray' };

const kindIcons: Readonly<Record<NotificationKind, KindIcon>> = {
  publication_requested: requestIcon,
  publication_approved: approvedIcon,
  publication_rejected: rejectedIcon,
  publication_superseded: closedIcon,
  publication_expired: closedIcon,
  publication_withdrawn: closedIcon,
  promotion_requested: requestIcon,
  promotion_approved: approvedIcon,
  promotion_rejected: rejectedIcon,
  domain_failing: { icon: IconAlertTriangle, color: 'orange' },
  domain_disconnected: { icon: IconWorldX, color: 'red' },
  app_access_requested: { icon: IconUserPlus, color: 'yellow' },
  app_access_accepted: approvedIcon,
  app_access_refused: rejectedIcon,
  co_owner_added: { icon: IconUserPlus, color: 'blue' },
  role_changed: { icon: IconUserShare, color: 'blue' },
  ownership_transferred: { icon: IconUserShare, color: 'blue' },
  deployment_failed: { icon: IconAlertTriangle, color: 'red' },
  schedule_failed: { icon: IconAlertTriangle, color: 'red' },
  access_requested: requestIcon,
  access_approved: approvedIcon,
  access_rejected: rejectedIcon,
  access_expired: closedIcon,
  access_ending: { icon: IconAlertTriangle, color: 'orange' },
};
