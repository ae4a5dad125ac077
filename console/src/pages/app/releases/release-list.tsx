import { Stack, Text, Title } from '@mantine/core';
import { listReleases, releasesKeptMax } from '@svc/contract/static-sites.ts';
import { useAnswer } from '../../../api/use-answer.ts';
import { DataTable } from '../../../parts/data-table.tsx';
import { Empty } from '../../../parts/empty.tsx';
import { PagedList } from '../../../parts/paged-list.tsx';
import { readableBytes } from '../../../parts/readable-bytes.ts';
import { TimeText } from '../../../parts/time-text.tsx';
import { usePage } from '../../../parts/use-search-value.ts';
import { useApp } from '../use-app.ts';
import { usePersonNames } from '../use-person-names.ts';
import { ReleaseBadges } from './release-badges.tsx';
import { ReleaseLink } from './release-link.tsx';

const perPage = 20;

export function ReleaseList() {
  const { app, params } = useApp();
  const names = usePersonNames();
  const answer = useAnswer(listReleases, { params, query: { page: usePage(), per_page: perPage } });
  return (
    <Stack gap="sm" component="section" aria-labelledby="releases-title">
      <Title order={2} size="h4" id="releases-title">
        Releases
      </Title>
      <PagedList
        answer={answer}
        empty={
          <Empty
            title="No release yet"
            command={`svc apps static deploy --app ${app.slug} --from-dir dist --execute`}
          >
            A release is one folder of files, whole and never changed again. Deploy one here or from a
            terminal; it is shown, and the one before can be brought back with one click.
          </Empty>
        }
      >
        {(items) => (
          <>
            <DataTable
              label="Releases"
              minWidth={640}
              highlightOnHover={false}
              rows={items}
              keyOf={({ id }) => id}
              columns={[
                { head: 'Release', cell: (release) => <ReleaseLink release={release} /> },
                { head: 'State', cell: (release) => <ReleaseBadges release={release} /> },
                { head: 'Files', cell: ({ files }) => files },
                { head: 'Size', cell: ({ bytes }) => readableBytes(bytes) },
                { head: 'By', cell: (release) => names(release.created_by) ?? 'somebody else' },
                { head: 'Made', cell: (release) => <TimeText value={release.created_at} /> },
              ]}
            />
            <Text size="sm" c="dimmed">
              Besides what is shown and staged, the last {releasesKeptMax} are kept to go back to.
            </Text>
          </>
        )}
      </PagedList>
    </Stack>
  );
}
