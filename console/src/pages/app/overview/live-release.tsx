import { Anchor, Stack, Text } from '@mantine/core';
import { consolePaths } from '@svc/contract/console-paths.ts';
import { getSite } from '@svc/contract/static-sites.ts';
import { useAnswer } from '../../../api/use-answer.ts';
import { AnswerView } from '../../../parts/answer-view.tsx';
import { LinkTo } from '../../../parts/link-to.tsx';
import { readableBytes } from '../../../parts/readable-bytes.ts';
import { TimeText } from '../../../parts/time-text.tsx';
import { useApp } from '../use-app.ts';

/** Of an app that is made of files, the release that is shown. */
export function LiveRelease() {
  const { app, tenant, params } = useApp();
  const answer = useAnswer(getSite, { params });
  return (
    <AnswerView answer={answer} lines={2}>
      {({ active_release: active, published, staged_release: staged, url }) => (
        <Stack gap={4}>
          {active === null || !published ? (
            <Text c="dimmed">{active ? 'The site is unpublished.' : 'No release is shown.'}</Text>
          ) : (
            <>
              <LinkTo to={consolePaths.release(tenant.slug, app.slug, active.id)} fw={600}>
                Release {active.version || `#${active.number}`}
              </LinkTo>
              <Text size="sm" c="dimmed" component="div">
                {active.files} files, {readableBytes(active.bytes)}, shown since{' '}
                <TimeText value={active.activated_at} />
              </Text>
              {url && (
                <Anchor
                  href={url}
                  target="_blank"
                  rel="noreferrer"
                  size="sm"
                  style={{ overflowWrap: 'anywhere' }}
                >
                  {url}
                </Anchor>
              )}
            </>
          )}
          {staged && (
            <Text size="sm">
              Staged:{' '}
              <LinkTo to={consolePaths.release(tenant.slug, app.slug, staged.id)} inherit underline="always">
                release {staged.version || `#${staged.number}`}
              </LinkTo>
            </Text>
          )}
        </Stack>
      )}
    </AnswerView>
  );
}
