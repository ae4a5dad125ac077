import { Alert, Group, Stack, Text } from '@mantine/core';
import { getApp } from '@svc/contract/apps.ts';
import { consolePaths } from '@svc/contract/console-paths.ts';
import { getDeployment, readBuildLog } from '@svc/contract/deployments.ts';
import { getPublication } from '@svc/contract/review.ts';
import { getSite } from '@svc/contract/static-sites.ts';
import { useParams } from 'wouter';
import { isMissing } from '../../api/client.ts';
import { useTenant, whyNot } from '../../api/me.ts';
import { useEndpoint } from '../../api/use-endpoint.ts';
import { ActionButton, CopyText } from '../../components/buttons.tsx';
import { DetailTable } from '../../components/data-table.tsx';
import { AppIcon, StateBadge, TimeText } from '../../components/display.tsx';
import { visibilityNames, visibleTo } from '../../components/format.ts';
import { ExternalLink, LinkTo, PageHead, Section, SmallLink } from '../../components/page-layout.tsx';
import { QueryView } from '../../components/query-view.tsx';
import { Hint } from '../../components/text.tsx';
import { NotFound } from '../../layout/not-found.tsx';
import type { PublicationRequest } from '../app/publication/publication-request.ts';
import { whyNotVisit } from '../app/rules.ts';
import type { AppView } from '../app/use-app.tsx';
import { Decision } from './decision.tsx';
import { reviewedState } from './rules.ts';

export default function ReviewPage() {
  const tenant = useTenant();
  const { request = '' } = useParams<{ request: string }>();
  const answer = useEndpoint(getPublication, { params: { tenantID: tenant.id, request } });
  if (isMissing(answer.error)) return <NotFound error={answer.error} />;
  return (
    <QueryView answer={answer} lines={8}>
      {(found) => <Review request={found} />}
    </QueryView>
  );
}

function Review({ request }: { request: PublicationRequest }) {
  const tenant = useTenant();
  const app = useEndpoint(getApp, { params: { tenantID: tenant.id, app: request.app_id } });
  const isDeployment = request.pinned === 'built';
  const name = request.app_name || request.app_slug || 'Deleted app';
  return (
    <>
      <PageHead
        title={isDeployment ? `New deployment of ${name}` : `Publish ${name}`}
        mark={app.data && <AppIcon app={app.data} size={48} />}
        lead={
          <Group gap="sm">
            <StateBadge state={request.status} />
            <span>
              {isDeployment
                ? `Stays ${visibilityNames[request.visibility]}`
                : `${visibilityNames[request.visibility_before]} → ${visibilityNames[request.visibility]}`}
            </span>
            {app.data && (
              <SmallLink to={consolePaths.app(tenant.slug, app.data.slug)}>Open app page</SmallLink>
            )}
          </Group>
        }
      />
      <Stack>
        <RequestDetails request={request} />
        {app.data && <ReviewedVersion request={request} app={app.data} />}
        <Decision request={request} relation={app.data?.relation ?? 'none'} />
      </Stack>
    </>
  );
}

function RequestDetails({ request }: { request: PublicationRequest }) {
  const isOpen = request.status === 'pending';
  const by = request.decided_by_email ? ` by ${request.decided_by_email}` : '';
  return (
    <Section title="Request">
      <DetailTable
        label="Request"
        details={{
          'Visible before to': visibleTo[request.visibility_before],
          'Requested for': <strong>{visibleTo[request.visibility]}</strong>,
          'Requested by': request.requested_by_email,
          Requested: <TimeText value={request.requested_at} />,
          Note: request.note ? (
            <Text size="sm" style={{ whiteSpace: 'pre-wrap' }}>
              {request.note}
            </Text>
          ) : (
            'none'
          ),
          Expires: isOpen && <TimeText value={request.expires_at} />,
          Result: !isOpen && `${request.status}${by}`,
          Decided: !isOpen && <TimeText value={request.decided_at} />,
          Reason: !isOpen && (request.reason || 'none'),
        }}
      />
    </Section>
  );
}

function ReviewedVersion({ request, app }: { request: PublicationRequest; app: AppView }) {
  const tenant = useTenant();
  const params = { tenantID: tenant.id, app: app.id };
  const { release_id: releaseId, deployment_id: deploymentId } = request;
  const asker = { role: tenant.role, relation: app.relation };
  const mayLook = whyNot(getSite, asker) === null && app.record !== 'deleted';
  const site = useEndpoint(getSite, { params }, { enabled: mayLook && releaseId !== null });
  const deployment = useEndpoint(
    getDeployment,
    { params: { ...params, deployment: deploymentId ?? '' } },
    { enabled: mayLook && releaseId === null && deploymentId !== null },
  );
  const state = reviewedState(request, { site: site.data, deployment: deployment.data });
  const isOpen = request.status === 'pending';
  const noVisit = state === 'staged' ? null : whyNotVisit(app);
  const noLog = whyNot(readBuildLog, asker);
  const address = state === 'staged' ? (site.data?.staging_url ?? null) : app.url;
  return (
    <Section title="Reviewed version">
      <Group gap="md">
        {state !== null && <StateBadge state={state === 'gone' ? 'over' : state} label={stateTexts[state]} />}
        {releaseId !== null && (
          <LinkTo to={consolePaths.release(tenant.slug, app.slug, releaseId)}>
            Release: files and differences
          </LinkTo>
        )}
        {deploymentId !== null && (
          <LinkTo to={consolePaths.deployment(tenant.slug, app.slug, deploymentId)}>
            {noLog === null ? 'Deployment and build log' : 'Deployment'}
          </LinkTo>
        )}
        {deploymentId !== null && noLog !== null && (
          <ActionButton why={noLog} size="compact-sm" onClick={() => {}}>
            Build log
          </ActionButton>
        )}
        {address !== null &&
          (state === 'live' || state === 'staged') &&
          (noVisit === null ? (
            <ExternalLink to={address}>Open preview</ExternalLink>
          ) : (
            <ActionButton why={noVisit} size="compact-sm" onClick={() => {}}>
              Open preview
            </ActionButton>
          ))}
      </Group>
      {state === 'gone' && isOpen && (
        <Alert color="yellow">
          Another version has been deployed since, so this request cannot be approved. The owners can send a
          new one.
        </Alert>
      )}
      <Stack gap={2}>
        <Hint>Content digest</Hint>
        <CopyText value={request.digest} label="content digest" size="xs" />
      </Stack>
    </Section>
  );
}

const stateTexts = {
  live: 'live',
  staged: 'staged',
  built: 'built, not live yet',
  gone: 'no longer deployed',
} as const;
