import { Alert, Anchor, Group, Modal, NativeSelect, Stack, Text, VisuallyHidden } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import type { Answer } from '@svc/contract/endpoint.ts';
import {
  diffRelease,
  fileChanges,
  getRelease,
  getReleaseFile,
  listReleases,
  releaseName,
  releaseTextBytesMax,
} from '@svc/contract/static-sites.ts';
import { Link } from 'wouter';
import { useEndpoint } from '../../../api/use-endpoint.ts';
import { DataTable } from '../../../components/data-table.tsx';
import { StateBadge } from '../../../components/display.tsx';
import { formatBytes } from '../../../components/format.ts';
import { ExternalLink } from '../../../components/page-layout.tsx';
import { Pager } from '../../../components/paged-list.tsx';
import { ProblemAlert } from '../../../components/problem-alert.tsx';
import { Loading, QueryView } from '../../../components/query-view.tsx';
import { Heading, Hint } from '../../../components/text.tsx';
import { usePage, useUrlChoice, useUrlDialog } from '../../../components/url-state.ts';
import { type AppView, useApp } from '../use-app.tsx';
import type { Release, Site } from './release.tsx';
import { TextDiff } from './text-diff.tsx';

const perPage = 100;
const shownKinds = ['different', ...fileChanges, 'all'] as const;

export function ReleaseDiff({ release, site }: { release: Release; site: Site }) {
  const { params } = useApp();
  const live = site.published ? site.active_release : null;
  const isLive = live?.id === release.id;
  const [against, setAgainst] = useUrlChoice<string>('against', '');
  const [kind, setKind] = useUrlChoice('change', isLive && against === '' ? 'all' : 'different', shownKinds);
  const page = usePage();
  const others = useEndpoint(listReleases, { params, query: { per_page: 100 } });
  const answer = useEndpoint(diffRelease, {
    params: { ...params, release: release.id },
    query: {
      against: against || undefined,
      change: kind === 'all' ? undefined : kind,
      page,
      per_page: perPage,
    },
  });
  const listed = others.data?.items ?? [];
  // The list has only the newest releases; an older one may be compared.
  const older = useEndpoint(
    getRelease,
    { params: { ...params, release: against } },
    { enabled: against !== '' && others.data !== undefined && listed.every(({ id }) => id !== against) },
  );
  const chosen = [...listed, ...(older.data ? [older.data] : [])];
  const before = against === '' ? live : (chosen.find(({ id }) => id === against) ?? null);
  return (
    <Stack gap="sm" component="section" aria-labelledby="files-title">
      <Heading id="files-title">Files</Heading>
      <Group align="flex-end" gap="sm">
        <NativeSelect
          label="Compare with"
          value={against}
          onChange={(event) => setAgainst(event.currentTarget.value)}
          data={[
            { value: '', label: live ? `live: ${releaseName(live)}` : 'live: nothing' },
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
      <QueryView answer={answer}>
        {(diff) => (
          <Stack gap="sm">
            <Text role="status">{diffSummary(diff.counts, { isLive: diff.against === release.id })}</Text>
            {release.state !== 'finalized' && release.state !== 'draft' && (
              <Hint>The files of a release that can no longer be activated are not stored.</Hint>
            )}
            {diff.items.length > 0 && <FileTable items={diff.items} />}
            <Pager page={page} perPage={perPage} total={diff.total} />
            {(against === '' || before !== null) && (
              <FileDialog release={release.id} against={before} items={diff.items} />
            )}
          </Stack>
        )}
      </QueryView>
    </Stack>
  );
}

type Counts = Record<(typeof fileChanges)[number], number>;

function diffSummary({ added, removed, changed, same }: Counts, { isLive }: { isLive: boolean }): string {
  if (isLive) return `This release is live: ${same} ${same === 1 ? 'file' : 'files'}.`;
  if (added + removed + changed === 0) return `No differences: ${same} files are unchanged.`;
  return `${added} added, ${changed} changed, ${removed} removed, ${same} unchanged.`;
}

function kindLabel(kind: (typeof shownKinds)[number], counts: Counts | undefined): string {
  const words = { different: 'differences', all: 'all files', same: 'unchanged' };
  const word = kind in words ? words[kind as keyof typeof words] : kind;
  if (!counts) return word;
  const { added, removed, changed, same } = counts;
  const different = added + removed + changed;
  return `${word} (${{ ...counts, different, all: different + same }[kind]})`;
}

function ConfigDiff({ before, after }: { before: Release; after: Release }) {
  const [old, now] = [before.config, after.config].map((config) => JSON.stringify(sortKeys(config), null, 2));
  if (old === now) return null;
  return (
    <Alert color="blue" title="The configuration differs">
      <TextDiff before={old ?? ''} after={now ?? ''} />
    </Alert>
  );
}

function sortKeys(config: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(config).sort(([one], [other]) => (one < other ? -1 : 1)));
}

type FileDiff = Answer<NonNullable<typeof diffRelease.shape>>['items'][number];

function FileTable({ items }: { items: readonly FileDiff[] }) {
  const { href } = useUrlDialog('file');
  return (
    <DataTable
      label="Files of the release"
      minWidth={0}
      verticalSpacing={6}
      rows={items}
      keyOf={({ path }) => path}
      columns={[
        { head: 'Actions', cell: ({ change }) => <StateBadge state={change} />, th: { w: 110 } },
        {
          head: 'File',
          cell: ({ path }) => (
            <Anchor component={Link} href={href(path)} className="mono" size="sm">
              {path}
            </Anchor>
          ),
          td: { style: { overflowWrap: 'anywhere', minWidth: '8rem' } },
        },
        { head: 'Size', cell: (item) => <Sizes item={item} />, th: { ta: 'end' }, td: { ta: 'end' } },
      ]}
    />
  );
}

function Sizes({ item: { change, size, before_size } }: { item: FileDiff }) {
  return (
    <Text size="sm" pos="relative">
      {change !== 'added' && change !== 'same' && before_size !== null && formatBytes(before_size)}
      {change === 'changed' && (
        <>
          <VisuallyHidden> before, now </VisuallyHidden>
          <span aria-hidden> → </span>
        </>
      )}
      {size !== null && formatBytes(size)}
    </Text>
  );
}

function FileDialog({
  release,
  against,
  items,
}: {
  release: string;
  against: Release | null;
  items: readonly FileDiff[];
}) {
  const { value: path, close } = useUrlDialog('file');
  const isNarrow = useMediaQuery('(max-width: 48em)') ?? false;
  const item = items.find((each) => each.path === path);
  return (
    <Modal opened={path !== null} onClose={close} title={path} size="70rem" fullScreen={isNarrow}>
      {item ? (
        <FileCompare release={release} against={against} item={item} />
      ) : (
        <Stack>
          <Text>This file is not in the list. Choose “all files” and open it again.</Text>
        </Stack>
      )}
    </Modal>
  );
}

function FileCompare({
  release,
  against,
  item,
}: {
  release: string;
  against: Release | null;
  item: FileDiff;
}) {
  const { app, params } = useApp();
  const query = { path: item.path };
  const after = useEndpoint(
    getReleaseFile,
    { params: { ...params, release }, query },
    { enabled: item.sha256 !== null },
  );
  const wasThere = item.change === 'changed' || item.change === 'removed';
  const isOld = wasThere && against !== null && isReadable(app, against);
  const before = useEndpoint(
    getReleaseFile,
    { params: { ...params, release: against?.id ?? release }, query },
    { enabled: isOld },
  );
  const sides = [...(item.sha256 === null ? [] : [after]), ...(isOld ? [before] : [])];
  const failed = sides.find(({ isError }) => isError);
  if (failed) return <ProblemAlert error={failed.error} />;
  if (sides.some(({ data }) => data === undefined)) return <Loading lines={6} />;
  if (sides.some(({ data }) => data?.text === null)) return <NoText item={item} />;
  if (wasThere && !isOld)
    return (
      <>
        <Text mb="sm">
          You can read staged releases and releases that are visible beyond the owners.
          {item.sha256 !== null && ' This is the new version of the file.'}
        </Text>
        {item.sha256 !== null && <TextDiff before="" after={after.data?.text ?? ''} isWhole />}
      </>
    );
  const [old, now] = [isOld ? (before.data?.text ?? '') : '', after.data?.text ?? ''];
  if (item.change === 'same') return <TextDiff before="" after={now} isWhole />;
  return <TextDiff before={old} after={item.sha256 === null ? '' : now} />;
}

function isReadable({ relation, visibility }: AppView, { roles }: Release): boolean {
  const owns = relation === 'owner' || relation === 'co_owner';
  return owns || roles.includes('staged') || (roles.includes('active') && visibility !== 'private');
}

function NoText({ item }: { item: FileDiff }) {
  const { app } = useApp();
  return (
    <>
      <Text>
        The file is not text or larger than {formatBytes(releaseTextBytesMax)}, so its lines are not compared.
        {item.change === 'changed' &&
          ` Size before: ${formatBytes(item.before_size ?? 0)}, now: ${formatBytes(item.size ?? 0)}.`}
      </Text>
      {app.url && item.sha256 !== null && (
        <Text mt="sm" size="sm">
          The live version is at{' '}
          <ExternalLink to={app.url + item.path.split('/').map(encodeURIComponent).join('/')}>
            its URL
          </ExternalLink>
          .
        </Text>
      )}
    </>
  );
}
