import { Group, Stack, Title } from '@mantine/core';
import { consolePaths } from '@svc/contract/console-paths.ts';
import { getRelease, getSite } from '@svc/contract/static-sites.ts';
import { isCode } from '../../../api/query-client.ts';
import { useAnswer } from '../../../api/use-answer.ts';
import { AnswerView } from '../../../parts/answer-view.tsx';
import { Empty } from '../../../parts/empty.tsx';
import { LinkTo } from '../../../parts/link-to.tsx';
import { useApp } from '../use-app.ts';
import { PromotionNote } from './promotion-note.tsx';
import { ReleaseBadges } from './release-badges.tsx';
import { ReleaseDiff } from './release-diff.tsx';
import { ReleaseFacts } from './release-facts.tsx';
import { ReleaseMoves } from './release-moves.tsx';
import { releaseName } from './release-view.ts';

const everyMs = 10_000;

/** One release, for who made it and for who reviews it alike. */
export function ReleasePage({ id }: { id: string }) {
  const { app, tenant, params } = useApp();
  const site = useAnswer(getSite, { params }, { everyMs });
  const answer = useAnswer(getRelease, { params: { ...params, release: id } }, { everyMs });
  const back = consolePaths.app(tenant.slug, app.slug, 'releases');
  if (isCode(answer.error, 'not_found') || isCode(answer.error, 'validation_failed'))
    return (
      <Empty title="No such release" error={answer.error} action={<LinkTo to={back}>All releases</LinkTo>}>
        The address names a release that this app does not have.
      </Empty>
    );
  return (
    <Stack gap="lg">
      <LinkTo to={back} size="sm">
        All releases
      </LinkTo>
      <AnswerView answer={site} lines={8}>
        {(shown) => (
          <AnswerView answer={answer} lines={8}>
            {(release) => (
              <Stack gap="xl">
                <Stack gap="sm">
                  <Group gap="sm">
                    <Title order={2} size="h3">
                      Release {releaseName(release)}
                    </Title>
                    <ReleaseBadges release={release} />
                  </Group>
                  <PromotionNote site={shown} release={release} />
                  <ReleaseMoves site={shown} release={release} />
                </Stack>
                <ReleaseFacts release={release} site={shown} />
                <ReleaseDiff release={release} site={shown} />
              </Stack>
            )}
          </AnswerView>
        )}
      </AnswerView>
    </Stack>
  );
}
