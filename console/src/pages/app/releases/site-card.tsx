import { Anchor, Group, Paper, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import { StateBadge } from '../../../parts/state-badge.tsx';
import { useApp } from '../use-app.ts';
import { ConfigEditor } from './config-editor.tsx';
import { ReleaseLink } from './release-link.tsx';
import type { SiteView } from './release-view.ts';
import { SiteSwitches } from './site-switches.tsx';

/** What people see at the two hosts of a site. */
export function SiteCard({ site }: { site: SiteView }) {
  const { app } = useApp();
  const { active_release: active, staged_release: staged, promotion } = site;
  const waits = promotion?.status === 'pending' && promotion.release_id === staged?.id;
  return (
    <Stack gap="sm" component="section" aria-labelledby="site-title">
      <Title order={2} size="h4" id="site-title">
        Site
      </Title>
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <Host
          title="What visitors see"
          url={site.published ? site.url : null}
          state={site.published ? 'published' : 'nothing'}
          stateText={site.published ? 'published' : active ? 'unpublished' : 'nothing yet'}
        >
          {active ? (
            <Text>
              {site.published ? 'Release ' : 'Nothing. It would be release '}
              <ReleaseLink release={active} />
            </Text>
          ) : (
            <Text>Nothing was deployed yet.</Text>
          )}
          {site.published && app.visibility === 'private' && (
            <Text size="sm" c="dimmed">
              The app is private: its owners alone see the site.
            </Text>
          )}
        </Host>
        <Host
          title="What is staged"
          url={staged ? site.staging_url : null}
          state={staged ? 'staged' : 'off'}
          stateText={site.staging_enabled ? (staged ? 'staged' : 'nothing staged') : 'off'}
        >
          {staged ? (
            <Text>
              Release <ReleaseLink release={staged} />
              {waits && ', which waits for a review'}
            </Text>
          ) : (
            <Text>
              {site.staging_enabled
                ? 'Stage a release to look at it before visitors do.'
                : 'With staging on, owners and reviewers look at a release before visitors see it.'}
            </Text>
          )}
        </Host>
      </SimpleGrid>
      <SiteSwitches site={site} />
      <ConfigEditor key={JSON.stringify(site.config)} site={site} />
    </Stack>
  );
}

function Host({
  title,
  url,
  state,
  stateText,
  children,
}: {
  title: string;
  url: string | null;
  state: string;
  stateText: string;
  children: React.ReactNode;
}) {
  return (
    <Paper withBorder p="md">
      <Stack gap="xs">
        <Group justify="space-between">
          <Title order={3} size="h5">
            {title}
          </Title>
          <StateBadge state={state} label={stateText} />
        </Group>
        {children}
        {url !== null && (
          <Anchor href={url} target="_blank" rel="noreferrer">
            {url.replace(/^https?:\/\//, '').replace(/\/$/, '')}
          </Anchor>
        )}
      </Stack>
    </Paper>
  );
}
