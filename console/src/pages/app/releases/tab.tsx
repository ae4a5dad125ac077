import { Alert, Stack } from '@mantine/core';
import { getSite, listReleases, retainedReleasesMax } from '@svc/contract/static-sites.ts';
import { useParams } from 'wouter';
import { useEndpoint } from '../../../api/use-endpoint.ts';
import { DataTable } from '../../../components/data-table.tsx';
import { TimeText } from '../../../components/display.tsx';
import { formatBytes } from '../../../components/format.ts';
import { EmptyState } from '../../../components/page-layout.tsx';
import { PagedList } from '../../../components/paged-list.tsx';
import { QueryView } from '../../../components/query-view.tsx';
import { Heading, Hint } from '../../../components/text.tsx';
import { usePage } from '../../../components/url-state.ts';
import { restrictedTab, useApp, usePersonNames } from '../use-app.tsx';
import { DeployFolder } from './deploy-folder.tsx';
import { ReleaseBadges, ReleaseLink } from './release.tsx';
import { ReleasePage } from './release-page.tsx';
import { SiteCard } from './site-card.tsx';

export default restrictedTab(getSite, 'the releases of this app', ReleasesTab);

function ReleasesTab() {
  const { part } = useParams<{ part?: string }>();
  return part === undefined ? <SitePage /> : <ReleasePage key={part} id={part} />;
}

const refetchMs = 10_000;

function SitePage() {
  const { app, params } = useApp();
  const answer = useEndpoint(getSite, { params }, { refetchMs });
  return (
    <QueryView answer={answer} lines={8}>
      {(site) => (
        <Stack gap="xl">
          {app.deploy_method !== 'static' && (
            <Alert color="blue" title={`This app is deployed with ${app.deploy_method}`}>
              The static site is served only until the app is deployed; then the app is served instead.
            </Alert>
          )}
          <SiteCard site={site} />
          <DeployFolder />
          <ReleaseList />
        </Stack>
      )}
    </QueryView>
  );
}

const perPage = 20;

function ReleaseList() {
  const { app, params } = useApp();
  const names = usePersonNames();
  const answer = useEndpoint(listReleases, { params, query: { page: usePage(), per_page: perPage } });
  return (
    <Stack gap="sm" component="section" aria-labelledby="releases-title">
      <Heading id="releases-title">Releases</Heading>
      <PagedList
        answer={answer}
        empty={
          <EmptyState
            title="No releases yet"
            command={`svc apps static deploy --app ${app.slug} --from-dir dist --execute`}
          >
            A release is an immutable folder of files. Deploy one here or from a terminal; you can roll back
            to the previous one with one click.
          </EmptyState>
        }
      >
        {(items) => (
          <>
            <DataTable
              label="Releases"
              minWidth={640}
              highlightOnHover={false}
              rows={items}
              columns={[
                { head: 'Release', cell: (release) => <ReleaseLink release={release} /> },
                { head: 'State', cell: (release) => <ReleaseBadges release={release} /> },
                { head: 'Files', cell: ({ files }) => files },
                { head: 'Size', cell: ({ bytes }) => formatBytes(bytes) },
                { head: 'By', cell: (release) => names(release.created_by) ?? 'unknown' },
                { head: 'Created', cell: (release) => <TimeText value={release.created_at} /> },
              ]}
            />
            <Hint>
              In addition to the live and staged releases, the last {retainedReleasesMax} are stored for
              rollback.
            </Hint>
          </>
        )}
      </PagedList>
    </Stack>
  );
}
