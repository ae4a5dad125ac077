import { Group, Stack, Text } from '@mantine/core';
import { getApp } from '@svc/contract/apps.ts';
import { consolePaths } from '@svc/contract/console-paths.ts';
import { newDataScopes } from '@svc/contract/data-scopes.ts';
import { getReview } from '@svc/contract/review.ts';
import { useParams } from 'wouter';
import { isMissing } from '../../api/client.ts';
import { useTenant } from '../../api/me.ts';
import { useEndpoint } from '../../api/use-endpoint.ts';
import { DetailTable } from '../../components/data-table.tsx';
import { AppIcon, StateBadge, TimeText } from '../../components/display.tsx';
import { visibilityNames, visibleTo } from '../../components/format.ts';
import { PageHead, Section, SmallLink } from '../../components/page-layout.tsx';
import { QueryView } from '../../components/query-view.tsx';
import { Mono } from '../../components/text.tsx';
import { NotFound } from '../../layout/not-found.tsx';
import { Changes } from './changes.tsx';
import { Decision } from './decision.tsx';
import type { Review } from './rules.ts';

export default function ReviewPage() {
  const tenant = useTenant();
  const { request = '' } = useParams<{ request: string }>();
  const answer = useEndpoint(getReview, { params: { tenantID: tenant.id, request } });
  if (isMissing(answer.error)) return <NotFound error={answer.error} />;
  return (
    <QueryView answer={answer} lines={8}>
      {(found) => <ReviewView request={found} />}
    </QueryView>
  );
}

const titles: Readonly<Record<Review['kind'], (app: string) => string>> = {
  publication: (app) => `Publish ${app}`,
  promotion: (app) => `New release of ${app}`,
  deployment: (app) => `New deployment of ${app}`,
};

function ReviewView({ request }: { request: Review }) {
  const tenant = useTenant();
  const app = useEndpoint(getApp, { params: { tenantID: tenant.id, app: request.app_id } });
  const name = request.app_name || request.app_slug || 'Deleted app';
  const { visibility, visibility_before: before } = request;
  return (
    <>
      <PageHead
        title={titles[request.kind](name)}
        mark={app.data && <AppIcon app={app.data} size={48} />}
        lead={
          <Group gap="sm">
            <StateBadge state={request.status} />
            <span>
              {visibility === before
                ? `Stays ${visibilityNames[visibility]}`
                : `${visibilityNames[before]} → ${visibilityNames[visibility]}`}
            </span>
            {app.data && (
              <SmallLink to={consolePaths.app(tenant.slug, app.data.slug)}>Open app page</SmallLink>
            )}
          </Group>
        }
      />
      <Stack>
        <RequestDetails request={request} />
        <Changes request={request} app={app.data} />
        <Decision request={request} relation={app.data?.relation ?? 'none'} />
      </Stack>
    </>
  );
}

function RequestDetails({ request }: { request: Review }) {
  const isOpen = request.status === 'pending';
  const by = request.decided_by_email ? ` by ${request.decided_by_email}` : '';
  return (
    <Section title="Request">
      <DetailTable
        label="Request"
        details={{
          'Visible before to': visibleTo[request.visibility_before],
          'Requested for': <strong>{visibleTo[request.visibility]}</strong>,
          'Invited people and groups': request.diff.audience.invited > 0 && request.diff.audience.invited,
          'New data scopes': newDataScopes(request).length > 0 && (
            <Stack gap={2}>
              {newDataScopes(request).map((scope) => (
                <Mono key={scope}>{scope}</Mono>
              ))}
            </Stack>
          ),
          'Requested by': request.requested_by_email,
          Requested: <TimeText value={request.requested_at} />,
          Note: request.note ? (
            <Text size="sm" style={{ whiteSpace: 'pre-wrap' }}>
              {request.note}
            </Text>
          ) : (
            'none'
          ),
          Expires: isOpen && request.expires_at !== null && <TimeText value={request.expires_at} />,
          Result: !isOpen && `${request.status}${by}`,
          Decided: !isOpen && <TimeText value={request.decided_at} />,
          Reason: !isOpen && (request.reason || 'none'),
        }}
      />
    </Section>
  );
}
