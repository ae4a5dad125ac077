import { Stack, Table, Text, Title } from '@mantine/core';
import { listReleases, releasesKeptMax } from '@svc/contract/static-sites.ts';
import { useAnswer } from '../../../api/use-answer.ts';
import { AnswerView } from '../../../parts/answer-view.tsx';
import { Empty } from '../../../parts/empty.tsx';
import { Pager } from '../../../parts/pager.tsx';
import { PastTheEnd } from '../../../parts/past-the-end.tsx';
import { readableBytes } from '../../../parts/readable-bytes.ts';
import { TimeText } from '../../../parts/time-text.tsx';
import { usePage } from '../../../parts/use-search-value.ts';
import { useApp } from '../use-app.ts';
import { useNames } from '../use-names.ts';
import { ReleaseBadges } from './release-badges.tsx';
import { ReleaseLink } from './release-link.tsx';

const perPage = 20;

export function ReleaseList() {
  const { app, params } = useApp();
  const names = useNames();
  const page = usePage();
  const answer = useAnswer(listReleases, {
    params,
    query: { page, per_page: perPage },
  });
  return (
    <Stack gap="sm" component="section" aria-labelledby="releases-title">
      <Title order={2} size="h4" id="releases-title">
        Releases
      </Title>
      <AnswerView answer={answer}>
        {({ items, total }) =>
          items.length === 0 && page > 1 ? (
            <PastTheEnd />
          ) : total === 0 ? (
            <Empty
              title="No release yet"
              command={`svc apps static deploy --app ${app.slug} --from-dir dist --execute`}
            >
              A release is one folder of files, whole and never changed again. Deploy one here or from a
              terminal; it is shown, and the one before can be brought back with one click.
            </Empty>
          ) : (
            <>
              <Table.ScrollContainer minWidth={640}>
                <Table verticalSpacing="sm" aria-label="Releases">
                  <Table.Thead>
                    <Table.Tr>
                      <Table.Th>Release</Table.Th>
                      <Table.Th>State</Table.Th>
                      <Table.Th>Files</Table.Th>
                      <Table.Th>Size</Table.Th>
                      <Table.Th>By</Table.Th>
                      <Table.Th>Made</Table.Th>
                    </Table.Tr>
                  </Table.Thead>
                  <Table.Tbody>
                    {items.map((release) => (
                      <Table.Tr key={release.id}>
                        <Table.Td>
                          <ReleaseLink release={release} />
                        </Table.Td>
                        <Table.Td>
                          <ReleaseBadges release={release} />
                        </Table.Td>
                        <Table.Td>{release.files}</Table.Td>
                        <Table.Td>{readableBytes(release.bytes)}</Table.Td>
                        <Table.Td>{names(release.created_by) ?? 'somebody else'}</Table.Td>
                        <Table.Td>
                          <TimeText value={release.created_at} />
                        </Table.Td>
                      </Table.Tr>
                    ))}
                  </Table.Tbody>
                </Table>
              </Table.ScrollContainer>
              <Text size="sm" c="dimmed">
                Besides what is shown and staged, the last {releasesKeptMax} are kept to go back to.
              </Text>
              <Pager page={page} perPage={perPage} total={total} />
            </>
          )
        }
      </AnswerView>
    </Stack>
  );
}
