import { Group, Stack } from '@mantine/core';
import { getApp } from '@svc/contract/apps.ts';
import { consolePaths } from '@svc/contract/console-paths.ts';
import { getPublication } from '@svc/contract/review.ts';
import { useParams } from 'wouter';
import { useTenant } from '../../api/me.ts';
import { isCode } from '../../api/query-client.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { NotFound } from '../../layout/not-found.tsx';
import { AnswerView } from '../../parts/answer-view.tsx';
import { AppIcon } from '../../parts/app-icon.tsx';
import { LinkTo } from '../../parts/link-to.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { StateBadge } from '../../parts/state-badge.tsx';
import { visibilityNames } from '../../parts/visibility-texts.ts';
import type { RequestView } from '../app/publication/request-view.ts';
import { Decision } from './decision.tsx';
import { PinnedThing } from './pinned-thing.tsx';
import { RequestFacts } from './request-facts.tsx';

/** One request to publish an app: what is asked for, of what exactly, and the decision. */
export default function ReviewPage() {
  const tenant = useTenant();
  const { request = '' } = useParams<{ request: string }>();
  const answer = useAnswer(getPublication, { params: { tenantID: tenant.id, request } });
  if (isCode(answer.error, 'not_found') || isCode(answer.error, 'validation_failed'))
    return <NotFound error={answer.error} />;
  return (
    <AnswerView answer={answer} lines={8}>
      {(found) => <Review request={found} />}
    </AnswerView>
  );
}

function Review({ request }: { request: RequestView }) {
  const tenant = useTenant();
  const app = useAnswer(getApp, { params: { tenantID: tenant.id, app: request.app_id } });
  const name = request.app_name || request.app_slug || 'An app that is gone';
  return (
    <>
      <PageHead
        title={`Publish ${name}`}
        mark={app.data && <AppIcon app={app.data} size={48} />}
        lead={
          <Group gap="sm">
            <StateBadge state={request.status} />
            <span>
              {visibilityNames[request.visibility_before]} → {visibilityNames[request.visibility]}
            </span>
            {app.data && (
              <LinkTo to={consolePaths.app(tenant.slug, app.data.slug)} size="sm">
                To the app
              </LinkTo>
            )}
          </Group>
        }
      />
      <Stack>
        <RequestFacts request={request} />
        {app.data && <PinnedThing request={request} app={app.data} />}
        <Decision request={request} relation={app.data?.relation ?? 'none'} />
      </Stack>
    </>
  );
}
