import { Anchor, Stack, Text } from '@mantine/core';
import { consolePaths } from '@svc/contract/console-paths.ts';
import { getSite } from '@svc/contract/static-sites.ts';
import { useAnswer } from '../../../api/use-answer.ts';
import { AnswerView } from '../../../parts/answer-view.tsx';
import { LinkTo } from '../../../parts/link-to.tsx';
import { readableBytes } from '../../../parts/readable-bytes.ts';
import { TimeText } from '../../../parts/time-text.tsx';
import { useApp } from '../use-app.ts';
import { usePersonNames } from '../use-person-names.ts';
import { whyNotVisit } from '../why-not-visit.ts';

/** Where no process is live, the release that is shown: files can be released to every app. */
export function LiveRelease() {
  const { app, tenant, params } = useApp();
  const nameOf = usePersonNames();
  const answer = useAnswer(getSite, { params });
  return (
    <AnswerView answer={answer} lines={2}>
      {({ active_release: active, published, staged_release: staged, url }) => (
        <Stack gap={4}>
          {active === null || !published ? (
            <Text c="dimmed">{active ? 'The site is unpublished.' : 'Nothing is live.'}</Text>
          ) : (
            <>
              <LinkTo to={consolePaths.release(tenant.slug, app.slug, active.id)} fw={600}>
                Release {active.version || `#${active.number}`}
              </LinkTo>
              <Text size="sm" c="dimmed" component="div">
                {nameOf(active.created_by) ?? 'Somebody'}, shown since{' '}
                <TimeText value={active.activated_at} />:{' '}
                {active.files === 1 ? '1 file' : `${active.files} files`}, {readableBytes(active.bytes)}
              </Text>
              {url && whyNotVisit(app) === null && (
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
