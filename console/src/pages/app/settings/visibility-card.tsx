import { Group, Stack, Text } from '@mantine/core';
import { updateApp, visibilities } from '@svc/contract/apps.ts';
import { consolePaths } from '@svc/contract/console-paths.ts';
import { useChange } from '../../../change/use-change.ts';
import { LinkTo } from '../../../parts/link-to.tsx';
import { MayButton } from '../../../parts/may-button.tsx';
import { ProblemAlert } from '../../../parts/problem-alert.tsx';
import { Section } from '../../../parts/section.tsx';
import { StateBadge } from '../../../parts/state-badge.tsx';
import { seenBy, type Visibility, visibilityNames } from '../../../parts/visibility-texts.ts';
import { useApp } from '../use-app.ts';
import { useWhyNoUpdate } from './use-why-no-update.ts';

const onlyByReview = 'Only a review shows it to more people. Request publication instead.';
const width = (one: Visibility) => visibilities.indexOf(one);

/** To fewer people at once; to more of them only by a review. */
export function VisibilityCard() {
  const { app, params, tenant } = useApp();
  const noUpdate = useWhyNoUpdate();
  const narrow = useChange(updateApp, {
    title: 'Show the app to fewer people',
    verb: 'Narrow it',
    done: 'The app is shown to fewer people now.',
  });
  // An admin may do this one thing with an app that is not theirs: where it does harm, it is hidden.
  const noNarrowing = app.record === 'active' && tenant.role === 'tenant_admin' ? null : noUpdate;
  const publish = `${consolePaths.app(tenant.slug, app.slug)}?publish=yes`;
  return (
    <Section
      title="Visibility"
      lead={
        <>
          To fewer people at once; a request that waits is withdrawn by it. To more people only by a review:{' '}
          <LinkTo to={publish} size="sm" underline="always">
            request publication
          </LinkTo>
          .
        </>
      }
    >
      <Stack component="ul" gap="sm" m={0} p={0} aria-label="Visibility" style={{ listStyle: 'none' }}>
        {visibilities.map((one) => {
          const isWider = width(one) > width(app.visibility);
          const verb = isWider ? 'Widen' : 'Narrow';
          return (
            <Group key={one} component="li" justify="space-between" gap="sm">
              <Stack gap={0} style={{ flex: '1 1 180px' }}>
                <Text size="sm" fw={600}>
                  {visibilityNames[one]}
                </Text>
                <Text size="sm" c="dimmed">
                  Seen by {seenBy[one]}
                </Text>
              </Stack>
              {one === app.visibility ? (
                <StateBadge state="active" label="as it is now" />
              ) : (
                <MayButton
                  size="compact-sm"
                  variant="default"
                  aria-label={`${verb} to ${visibilityNames[one]}`}
                  why={isWider ? onlyByReview : noNarrowing}
                  loading={narrow.isBusy}
                  onClick={() => void narrow.propose({ params, body: { visibility: one } })}
                >
                  {verb}
                </MayButton>
              )}
            </Group>
          );
        })}
      </Stack>
      {narrow.problem !== null && <ProblemAlert error={narrow.problem} />}
    </Section>
  );
}
