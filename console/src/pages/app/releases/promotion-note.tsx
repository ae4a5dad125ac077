import { Alert, Text } from '@mantine/core';
import { TimeText } from '../../../parts/time-text.tsx';
import { usePersonNames } from '../use-person-names.ts';
import type { ReleaseView, SiteView } from './release-view.ts';

/** What has been said about promoting this release, last. */
export function PromotionNote({ site, release }: { site: SiteView; release: ReleaseView }) {
  const names = usePersonNames();
  const { promotion } = site;
  if (promotion?.release_id !== release.id || !(promotion.status in looks)) return null;
  const { color, title } = looks[promotion.status as keyof typeof looks];
  const by = names(promotion.requested_by) ?? 'An owner';
  return (
    <Alert color={color} title={title}>
      <Text size="sm">
        {by} asked for it <TimeText value={promotion.requested_at} />
        {promotion.note && `: “${promotion.note}”`}
      </Text>
      {promotion.decided_at && (
        <Text size="sm">
          {promotion.status === 'stale' ? 'Given up' : 'Decided'} <TimeText value={promotion.decided_at} />
          {promotion.reason && `: “${promotion.reason}”`}
        </Text>
      )}
    </Alert>
  );
}

const looks = {
  pending: { color: 'yellow', title: 'Its promotion waits for a review' },
  approved: { color: 'green', title: 'Its promotion was approved' },
  rejected: { color: 'red', title: 'Its promotion was rejected' },
  stale: { color: 'gray', title: 'Its promotion was given up: what is staged or shown has changed since' },
} as const;
