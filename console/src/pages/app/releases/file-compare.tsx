import { Anchor, Text } from '@mantine/core';
import { getReleaseFile, releaseTextBytesMax } from '@svc/contract/static-sites.ts';
import { useAnswer } from '../../../api/use-answer.ts';
import { Placeholder } from '../../../parts/answer-view.tsx';
import { ProblemAlert } from '../../../parts/problem-alert.tsx';
import { readableBytes } from '../../../parts/readable-bytes.ts';
import { type AppView, useApp } from '../use-app.ts';
import type { FileDiff } from './file-table.tsx';
import type { ReleaseView } from './release-view.ts';
import { TextDiff } from './text-diff.tsx';

/** What has changed in one file, line by line, where it is a text that both sides may be read of. */
export function FileCompare({
  release,
  against,
  item,
}: {
  release: string;
  against: ReleaseView | null;
  item: FileDiff;
}) {
  const { app, params } = useApp();
  const query = { path: item.path };
  const after = useAnswer(
    getReleaseFile,
    { params: { ...params, release }, query },
    { enabled: item.sha256 !== null },
  );
  const wasThere = item.change === 'changed' || item.change === 'removed';
  const isOld = wasThere && against !== null && isReadable(app, against);
  const before = useAnswer(
    getReleaseFile,
    { params: { ...params, release: against?.id ?? release }, query },
    { enabled: isOld },
  );
  const sides = [...(item.sha256 === null ? [] : [after]), ...(isOld ? [before] : [])];
  const failed = sides.find(({ isError }) => isError);
  if (failed) return <ProblemAlert error={failed.error} />;
  if (sides.some(({ data }) => data === undefined)) return <Placeholder lines={6} />;
  if (sides.some(({ data }) => data?.text === null)) return <NoText item={item} />;
  if (wasThere && !isOld)
    return (
      <>
        <Text mb="sm">
          You may read what is staged, and what people beyond its owners see.
          {item.sha256 !== null && ' This is the whole file as it would be.'}
        </Text>
        {item.sha256 !== null && <TextDiff before="" after={after.data?.text ?? ''} isWhole />}
      </>
    );
  const [old, now] = [isOld ? (before.data?.text ?? '') : '', after.data?.text ?? ''];
  if (item.change === 'same') return <TextDiff before="" after={now} isWhole />;
  return <TextDiff before={old} after={item.sha256 === null ? '' : now} />;
}

/** Owners read all; reviewers what is theirs to judge. The server decides all the same. */
function isReadable({ relation, visibility }: AppView, { roles }: ReleaseView): boolean {
  const owns = relation === 'owner' || relation === 'co_owner';
  return owns || roles.includes('staged') || (roles.includes('active') && visibility !== 'private');
}

function NoText({ item }: { item: FileDiff }) {
  const { app } = useApp();
  return (
    <>
      <Text>
        It is no text, or larger than {readableBytes(releaseTextBytesMax)}, so its lines are not compared.
        {item.change === 'changed' &&
          ` It had ${readableBytes(item.before_size ?? 0)} and has ${readableBytes(item.size ?? 0)}.`}
      </Text>
      {app.url && item.sha256 !== null && (
        <Text mt="sm" size="sm">
          Look at it where the release is shown; what is live is at{' '}
          <Anchor
            href={app.url + item.path.split('/').map(encodeURIComponent).join('/')}
            target="_blank"
            rel="noreferrer"
          >
            its address
          </Anchor>
          .
        </Text>
      )}
    </>
  );
}
