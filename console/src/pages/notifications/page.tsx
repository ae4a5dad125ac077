import { Group, SegmentedControl, Stack } from '@mantine/core';
import { listNotifications, readNotifications } from '@svc/contract/notifications.ts';
import { IconChecks } from '@tabler/icons-react';
import { client } from '../../api/client.ts';
import { useTenant } from '../../api/me.ts';
import { useChange } from '../../change/use-change.ts';
import { Placeholder } from '../../parts/answer-view.tsx';
import { Empty } from '../../parts/empty.tsx';
import { MayButton } from '../../parts/may-button.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { ProblemAlert } from '../../parts/problem-alert.tsx';
import { ShowMore } from '../../parts/show-more.tsx';
import { useCursorPages } from '../../parts/use-cursor-pages.ts';
import { useQueryParam } from '../../parts/use-query-param.ts';
import { NotificationItem } from './notification-item.tsx';

const perPage = 30;

/** What one was told, the newest first. */
export default function NotificationsPage() {
  const params = { tenantID: useTenant().id };
  const [show, setShow] = useQueryParam('show', 'all', ['all', 'unread']);
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
        lead={pages.first && (count === 0 ? 'You have read everything.' : `${count} unread`)}
        actions={
          <MayButton
            variant="default"
            leftSection={<IconChecks size={16} aria-hidden />}
            why={count === 0 ? 'Nothing is unread.' : null}
            loading={read.isBusy}
            onClick={() => void read.propose({ params, body: { all: true } })}
          >
            Mark all as read
          </MayButton>
        }
      />
      <Stack>
        <Group>
          <SegmentedControl
            aria-label="Which notifications"
            data={[
              { value: 'all', label: 'All' },
              { value: 'unread', label: 'Unread' },
            ]}
            value={show}
            onChange={(value) => setShow(value === 'unread' ? 'unread' : 'all')}
          />
        </Group>
        {read.problem !== null && <ProblemAlert error={read.problem} />}
        {pages.error && <ProblemAlert error={pages.error} retry={pages.retry} />}
        {pages.items === undefined && !pages.error && <Placeholder lines={5} />}
        {pages.items?.length === 0 && (
          <Empty
            title={show === 'unread' ? 'Nothing unread' : 'Nothing yet'}
            command={`svc notifications list${show === 'unread' ? ' --unread' : ''}`}
          >
            You are told here of reviews that wait for you and what became of yours, of apps that were handed
            to you, of deployments that failed and of domains that no longer lead here.
          </Empty>
        )}
        {pages.items !== undefined && pages.items.length > 0 && (
          <Stack component="ul" gap="sm" m={0} p={0} aria-label="Notifications" style={{ listStyle: 'none' }}>
            {pages.items.map((item) => (
              <NotificationItem
                key={item.id}
                item={item}
                read={() => void read.propose({ params, body: { ids: [item.id] } })}
              />
            ))}
          </Stack>
        )}
        <ShowMore pages={pages} />
      </Stack>
    </>
  );
}
