import { Group, Stack } from '@mantine/core';
import { activateRelease, disableStaging, enableStaging, unpublishSite } from '@svc/contract/static-sites.ts';
import { useChange } from '../../../change/use-change.ts';
import { MayButton } from '../../../parts/may-button.tsx';
import { ProblemAlert } from '../../../parts/problem-alert.tsx';
import { useApp } from '../use-app.ts';
import { whyNotActive } from '../why-not-active.ts';
import type { SiteView } from './release-view.ts';

/** Whether the site is shown, and whether it has a staging host. */
export function SiteSwitches({ site }: { site: SiteView }) {
  const { app, params, why } = useApp();
  const unpublish = useChange(unpublishSite, {
    title: 'Unpublish the site',
    verb: 'Unpublish',
    done: 'The site shows nothing now.',
  });
  const publish = useChange(activateRelease, {
    title: 'Publish the site again',
    verb: 'Publish again',
    done: 'Visitors see the site again.',
  });
  const stagingOn = useChange(enableStaging, {
    title: 'Turn staging on',
    verb: 'Turn staging on',
    done: 'The site has a staging host now.',
  });
  const stagingOff = useChange(disableStaging, {
    title: 'Turn staging off',
    verb: 'Turn staging off',
    done: 'The staging host is gone.',
  });
  const active = site.active_release;
  const notActive = whyNotActive(app);
  const problems = [unpublish, publish, stagingOn, stagingOff].filter(({ problem }) => problem !== null);
  return (
    <Stack gap="sm">
      <Group gap="sm">
        {site.published || !active ? (
          <MayButton
            variant="default"
            why={why(unpublishSite) ?? (active ? null : 'Nothing is shown; deploy a folder first.')}
            loading={unpublish.isBusy}
            onClick={() => void unpublish.propose({ params })}
          >
            Unpublish
          </MayButton>
        ) : (
          <MayButton
            why={why(activateRelease) ?? notActive}
            loading={publish.isBusy}
            onClick={() => void publish.propose({ params: { ...params, release: active.id } })}
          >
            Publish again
          </MayButton>
        )}
        {site.staging_enabled ? (
          <MayButton
            variant="default"
            why={why(disableStaging) ?? notActive}
            loading={stagingOff.isBusy}
            onClick={() => void stagingOff.propose({ params })}
          >
            Turn staging off
          </MayButton>
        ) : (
          <MayButton
            variant="default"
            why={why(enableStaging) ?? notActive}
            loading={stagingOn.isBusy}
            onClick={() => void stagingOn.propose({ params })}
          >
            Turn staging on
          </MayButton>
        )}
      </Group>
      {problems.map(({ problem }) => (
        <ProblemAlert key={String(problem)} error={problem} />
      ))}
    </Stack>
  );
}
