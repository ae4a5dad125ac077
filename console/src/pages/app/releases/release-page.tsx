import { Alert, Group, Paper, Stack, Text } from '@mantine/core';
import { getRelease, getSite, releaseName } from '@svc/contract/static-sites.ts';
import { isMissing } from '../../../api/client.ts';
import { useEndpoint } from '../../../api/use-endpoint.ts';
import { CopyText } from '../../../components/buttons.tsx';
import { DetailGrid } from '../../../components/data-table.tsx';
import { TimeText } from '../../../components/display.tsx';
import { formatBytes } from '../../../components/format.ts';
import {
  EmptyState,
  ExternalLink,
  LinkTo,
  SmallLink,
  withoutScheme,
} from '../../../components/page-layout.tsx';
import { QueryView } from '../../../components/query-view.tsx';
import { Heading } from '../../../components/text.tsx';
import { useApp, usePersonNames } from '../use-app.tsx';
import { type Release, ReleaseBadges, type Site } from './release.tsx';
import { ReleaseActions } from './release-actions.tsx';
import { ReleaseDiff } from './release-diff.tsx';

const refetchMs = 10_000;

export function ReleasePage({ id }: { id: string }) {
  const { params, paths } = useApp();
  const site = useEndpoint(getSite, { params }, { refetchMs });
  const answer = useEndpoint(getRelease, { params: { ...params, release: id } }, { refetchMs });
  const back = paths.app('releases');
  if (isMissing(answer.error))
    return (
      <EmptyState
        title="Release not found"
        error={answer.error}
        action={<LinkTo to={back}>All releases</LinkTo>}
      >
        This app has no release with this id.
      </EmptyState>
    );
  return (
    <Stack gap="lg">
      <SmallLink to={back}>All releases</SmallLink>
      <QueryView answer={site} lines={8}>
        {(siteData) => (
          <QueryView answer={answer} lines={8}>
            {(release) => (
              <Stack gap="xl">
                <Stack gap="sm">
                  <Group gap="sm">
                    <Heading size="h3">Release {releaseName(release)}</Heading>
                    <ReleaseBadges release={release} />
                  </Group>
                  <PromotionStatus site={siteData} release={release} />
                  <ReleaseActions site={siteData} release={release} />
                </Stack>
                <ReleaseDetails release={release} site={siteData} />
                <ReleaseDiff release={release} site={siteData} />
              </Stack>
            )}
          </QueryView>
        )}
      </QueryView>
    </Stack>
  );
}

function PromotionStatus({ site, release }: { site: Site; release: Release }) {
  const names = usePersonNames();
  const { promotion } = site;
  if (promotion?.release_id !== release.id || !(promotion.status in promotionTexts)) return null;
  const { color, title } = promotionTexts[promotion.status as keyof typeof promotionTexts];
  const by = names(promotion.requested_by) ?? 'An owner';
  return (
    <Alert color={color} title={title}>
      <Text size="sm">
        {by} requested it <TimeText value={promotion.requested_at} />
        {promotion.note && `: “${promotion.note}”`}
      </Text>
      {promotion.decided_at && (
        <Text size="sm">
          {promotion.status === 'stale' ? 'Cancelled' : 'Decided'} <TimeText value={promotion.decided_at} />
          {promotion.reason && `: “${promotion.reason}”`}
        </Text>
      )}
    </Alert>
  );
}

const promotionTexts = {
  pending: { color: 'yellow', title: 'Promotion is waiting for review' },
  approved: { color: 'green', title: 'Promotion approved' },
  rejected: { color: 'red', title: 'Promotion rejected' },
  stale: { color: 'gray', title: 'Promotion cancelled: the staged or live release has changed' },
} as const;

function ReleaseDetails({ release, site }: { release: Release; site: Site }) {
  const names = usePersonNames();
  const url = releaseUrl(release, site);
  return (
    <Paper withBorder p="md">
      <DetailGrid
        cols={{ base: 1, xs: 2, md: 3, xl: 4 }}
        size="md"
        details={{
          Files: `${release.files} (${formatBytes(release.bytes)})`,
          Created: (
            <>
              <TimeText value={release.created_at} /> by {names(release.created_by) ?? 'unknown'}
            </>
          ),
          Finished: <TimeText value={release.finalized_at} empty="not yet" />,
          'Last live': <TimeText value={release.activated_at} empty="never" />,
          'Reviewed for': release.reviewed_for?.replaceAll('_', ' ') ?? 'owners only',
          Revoked: release.revoked_at && <TimeText value={release.revoked_at} />,
          URL: url && <ExternalLink to={url}>{withoutScheme(url)}</ExternalLink>,
          Id: <CopyText value={release.id} label="release id" size="xs" />,
          'Content digest': <CopyText value={release.digest} label="digest" size="xs" />,
        }}
      />
    </Paper>
  );
}

function releaseUrl({ roles }: Release, site: Site): string | null {
  if (roles.includes('active') && site.published) return site.url;
  return roles.includes('staged') ? site.staging_url : null;
}
