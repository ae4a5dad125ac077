import { Group, NativeSelect, Stack, Text, Title } from '@mantine/core';
import { diffRelease, fileChanges, getRelease, listReleases } from '@svc/contract/static-sites.ts';
import { useAnswer } from '../../../api/use-answer.ts';
import { AnswerView } from '../../../parts/answer-view.tsx';
import { Pager } from '../../../parts/pager.tsx';
import { useQueryParam } from '../../../parts/use-query-param.ts';
import { usePage } from '../../../parts/use-search-value.ts';
import { useApp } from '../use-app.ts';
import { ConfigDiff } from './config-diff.tsx';
import { FileDialog } from './file-dialog.tsx';
import { FileTable } from './file-table.tsx';
import { type ReleaseView, releaseName, type SiteView } from './release-view.ts';

const perPage = 100;
const shownKinds = ['different', ...fileChanges, 'all'] as const;

/** What visitors would see otherwise: each file that is new, gone or changed against what is live. */
export function ReleaseDiff({ release, site }: { release: ReleaseView; site: SiteView }) {
  const { params } = useApp();
  const isLive = site.published && site.active_release?.id === release.id;
  const [against, setAgainst] = useQueryParam<string>('against', '');
  const [kind, setKind] = useQueryParam('change', isLive && against === '' ? 'all' : 'different', shownKinds);
  const page = usePage();
  const others = useAnswer(listReleases, { params, query: { per_page: 100 } });
  const answer = useAnswer(diffRelease, {
    params: { ...params, release: release.id },
    query: {
      ...(against === '' ? {} : { against }),
      ...(kind === 'all' ? {} : { change: kind }),
      page,
      per_page: perPage,
    },
  });
  const listed = others.data?.items ?? [];
  // The list has the newest ones alone, and any may be compared with.
  const older = useAnswer(
    getRelease,
    { params: { ...params, release: against } },
    { enabled: against !== '' && others.data !== undefined && listed.every(({ id }) => id !== against) },
  );
  const chosen = [...listed, ...(older.data ? [older.data] : [])];
  const live = site.published ? site.active_release : null;
  const before = against === '' ? live : (chosen.find(({ id }) => id === against) ?? null);
  return (
    <Stack gap="sm" component="section" aria-labelledby="files-title">
      <Title order={2} size="h4" id="files-title">
        Files
      </Title>
      <Group align="flex-end" gap="sm">
        <NativeSelect
          label="Compare with"
          value={against}
          onChange={(event) => setAgainst(event.currentTarget.value)}
          data={[
            {
              value: '',
              label:
                site.published && site.active_release
                  ? `what visitors see, ${releaseName(site.active_release)}`
                  : 'what visitors see: nothing',
            },
            ...chosen
              .filter(({ id, state }) => id !== release.id && (state === 'finalized' || id === against))
              .map((other) => ({ value: other.id, label: releaseName(other) })),
          ]}
        />
        <NativeSelect
          label="Show"
          value={kind}
          onChange={(event) => setKind(event.currentTarget.value as (typeof shownKinds)[number])}
          data={shownKinds.map((value) => ({ value, label: kindLabel(value, answer.data?.counts) }))}
        />
      </Group>
      {before && before.id !== release.id && <ConfigDiff before={before} after={release} />}
      <AnswerView answer={answer}>
        {(diff) => (
          <Stack gap="sm">
            <Text role="status">{summaryOf(diff.counts, { isLive: diff.against === release.id })}</Text>
            {release.state !== 'finalized' && release.state !== 'draft' && (
              <Text size="sm" c="dimmed">
                Files of a release that is never shown again are not kept.
              </Text>
            )}
            {diff.items.length > 0 && <FileTable items={diff.items} />}
            <Pager page={page} perPage={perPage} total={diff.total} />
            {(against === '' || before !== null) && (
              <FileDialog release={release.id} against={before} items={diff.items} />
            )}
          </Stack>
        )}
      </AnswerView>
    </Stack>
  );
}

type Counts = Record<(typeof fileChanges)[number], number>;

function summaryOf({ added, removed, changed, same }: Counts, { isLive }: { isLive: boolean }): string {
  if (isLive) return `This is what visitors see: ${same} ${same === 1 ? 'file' : 'files'}.`;
  if (added + removed + changed === 0) return `Nothing is different: ${same} files are the same.`;
  return `${added} added, ${changed} changed, ${removed} removed, ${same} the same.`;
}

function kindLabel(kind: (typeof shownKinds)[number], counts: Counts | undefined): string {
  const words = { different: 'what is different', all: 'all files', same: 'what is the same' };
  const word = kind in words ? words[kind as keyof typeof words] : `what was ${kind}`;
  if (!counts) return word;
  const { added, removed, changed, same } = counts;
  const different = added + removed + changed;
  return `${word} (${{ ...counts, different, all: different + same }[kind]})`;
}
