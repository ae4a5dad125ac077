import { Alert, Anchor, Group, Stack, Text } from '@mantine/core';
import { consolePaths } from '@svc/contract/console-paths.ts';
import { getDeployment, readBuildLog } from '@svc/contract/deployments.ts';
import { getSite } from '@svc/contract/static-sites.ts';
import { whyNot } from '../../api/may.ts';
import { useTenant } from '../../api/me.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { CopyText } from '../../parts/copy-text.tsx';
import { LinkTo } from '../../parts/link-to.tsx';
import { MayButton } from '../../parts/may-button.tsx';
import { Section } from '../../parts/section.tsx';
import { StateBadge } from '../../parts/state-badge.tsx';
import type { RequestView } from '../app/publication/request-view.ts';
import type { AppView } from '../app/use-app.ts';
import { whyNotVisit } from '../app/why-not-visit.ts';
import { placeOf } from './place-of.ts';

/** The one thing that is reviewed: exactly this would be shown, and nothing that comes after it. */
export function PinnedThing({ request, app }: { request: RequestView; app: AppView }) {
  const tenant = useTenant();
  const params = { tenantID: tenant.id, app: app.id };
  const { release_id: releaseId, deployment_id: deploymentId } = request;
  const asker = { role: tenant.role, relation: app.relation };
  const mayLook = whyNot(getSite, asker) === null && app.record !== 'deleted';
  const site = useAnswer(getSite, { params }, { enabled: mayLook && releaseId !== null });
  const deployment = useAnswer(
    getDeployment,
    { params: { ...params, deployment: deploymentId ?? '' } },
    { enabled: mayLook && releaseId === null && deploymentId !== null },
  );
  const place = placeOf(request, { site: site.data, deployment: deployment.data });
  const isOpen = request.status === 'pending';
  // What is staged is there for who reviews it as well.
  const noVisit = place === 'staged' ? null : whyNotVisit(app);
  const noLog = whyNot(readBuildLog, asker);
  const address = place === 'staged' ? (site.data?.staging_url ?? null) : app.url;
  return (
    <Section title="What is reviewed">
      <Group gap="md">
        {place !== null && <StateBadge state={place === 'gone' ? 'over' : place} label={placeTexts[place]} />}
        {releaseId !== null && (
          <LinkTo to={consolePaths.release(tenant.slug, app.slug, releaseId)}>
            The release: its files, and what differs from what is live
          </LinkTo>
        )}
        {deploymentId !== null && (
          <LinkTo to={consolePaths.deployment(tenant.slug, app.slug, deploymentId)}>
            {noLog === null ? 'The deployment and its build log' : 'The deployment'}
          </LinkTo>
        )}
        {deploymentId !== null && noLog !== null && (
          <MayButton why={noLog} size="compact-sm" variant="default" onClick={() => {}}>
            Its build log
          </MayButton>
        )}
        {address !== null &&
          place !== null &&
          place !== 'gone' &&
          (noVisit === null ? (
            <Anchor href={address} target="_blank" rel="noreferrer">
              Look at it in the browser
            </Anchor>
          ) : (
            <MayButton why={noVisit} size="compact-sm" variant="default" onClick={() => {}}>
              Look at it in the browser
            </MayButton>
          ))}
      </Group>
      {place === 'gone' && isOpen && (
        <Alert color="yellow">
          Something else is deployed by now. What is reviewed here is not what people would see, so it can not
          be approved; its owners can ask again.
        </Alert>
      )}
      <Stack gap={2}>
        <Text size="sm" c="dimmed">
          Fingerprint of all that it is
        </Text>
        <CopyText value={request.digest} label="fingerprint" size="xs" />
      </Stack>
    </Section>
  );
}

const placeTexts = {
  live: 'live now',
  staged: 'staged now',
  gone: 'no longer deployed',
} as const;
