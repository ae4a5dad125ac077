import { Anchor, Paper, SimpleGrid, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { CopyText } from '../../../parts/copy-text.tsx';
import { readableBytes } from '../../../parts/readable-bytes.ts';
import { TimeText } from '../../../parts/time-text.tsx';
import { usePersonNames } from '../use-person-names.ts';
import type { ReleaseView, SiteView } from './release-view.ts';

export function ReleaseFacts({ release, site }: { release: ReleaseView; site: SiteView }) {
  const names = usePersonNames();
  const url = seenAt(release, site);
  return (
    <Paper withBorder p="md">
      <SimpleGrid component="dl" cols={{ base: 1, xs: 2, md: 3, xl: 4 }} m={0}>
        <Fact name="Files">
          {release.files} ({readableBytes(release.bytes)})
        </Fact>
        <Fact name="Made">
          <TimeText value={release.created_at} /> by {names(release.created_by) ?? 'somebody else'}
        </Fact>
        <Fact name="Finished">
          <TimeText value={release.finalized_at} empty="not yet" />
        </Fact>
        <Fact name="Last shown">
          <TimeText value={release.activated_at} empty="never" />
        </Fact>
        <Fact name="Reviewed for">
          {release.reviewed_for?.replaceAll('_', ' ') ?? 'nobody beyond the owners'}
        </Fact>
        {release.revoked_at && (
          <Fact name="Revoked">
            <TimeText value={release.revoked_at} />
          </Fact>
        )}
        {url && (
          <Fact name="Seen at">
            <Anchor href={url} target="_blank" rel="noreferrer">
              {url.replace(/^https?:\/\//, '').replace(/\/$/, '')}
            </Anchor>
          </Fact>
        )}
        <Fact name="Id">
          <CopyText value={release.id} label="release id" size="xs" />
        </Fact>
        <Fact name="Digest: what a review approves">
          <CopyText value={release.digest} label="digest" size="xs" />
        </Fact>
      </SimpleGrid>
    </Paper>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <Stack gap={0} component="div">
      <Text component="dt" size="sm" c="dimmed">
        {name}
      </Text>
      <Text component="dd" m={0}>
        {children}
      </Text>
    </Stack>
  );
}

function seenAt({ roles }: ReleaseView, site: SiteView): string | null {
  if (roles.includes('active') && site.published) return site.url;
  return roles.includes('staged') ? site.staging_url : null;
}
