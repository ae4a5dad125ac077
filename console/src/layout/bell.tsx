import { ActionIcon, Indicator } from '@mantine/core';
import { consolePaths } from '@svc/contract/console-paths.ts';
import { listNotifications } from '@svc/contract/notifications.ts';
import { IconBell } from '@tabler/icons-react';
import { Link } from 'wouter';
import { useTenant } from '../api/me.ts';
import { useAnswer } from '../api/use-answer.ts';

const askedEveryMs = 30_000;
const countShownMax = 99;

/** How much one has not read yet, on every page. */
export function Bell() {
  const { slug, id } = useTenant();
  const { data } = useAnswer(
    listNotifications,
    { params: { tenantID: id }, query: { per_page: 1, unread: 'true' } },
    { everyMs: askedEveryMs },
  );
  const unread = data?.unread ?? 0;
  return (
    <Indicator
      label={unread > countShownMax ? `${countShownMax}+` : unread}
      size={18}
      offset={6}
      color="red.9"
      disabled={unread === 0}
    >
      <ActionIcon
        component={Link}
        href={consolePaths.notifications(slug)}
        variant="subtle"
        color="gray"
        size="lg"
        aria-label={unread === 0 ? 'Notifications' : `Notifications, ${unread} unread`}
      >
        <IconBell size={20} aria-hidden />
      </ActionIcon>
    </Indicator>
  );
}
