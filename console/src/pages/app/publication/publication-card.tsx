import { Group, Stack, Text } from '@mantine/core';
import { listPublicationsOfApp, requestPublication } from '@svc/contract/review.ts';
import { getSite } from '@svc/contract/static-sites.ts';
import { IconWorld } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { useAnswer } from '../../../api/use-answer.ts';
import { MayButton } from '../../../parts/may-button.tsx';
import { Section } from '../../../parts/section.tsx';
import { StateBadge } from '../../../parts/state-badge.tsx';
import { useSearchValue } from '../../../parts/use-search-value.ts';
import { seenBy, visibilityNames } from '../../../parts/visibility-texts.ts';
import { useApp } from '../use-app.ts';
import { OpenRequest } from './open-request.tsx';
import { PublicationForm } from './publication-form.tsx';
import { PublicationHistory } from './publication-history.tsx';
import { hasPending } from './request-view.ts';
import { whyNotPublish } from './why-not-publish.ts';

const shownMax = 5;
/** How often it is asked whether a request that waits was decided. */
const pendingMs = 5_000;

/** Who sees the app now, and the way to show it to more people. `?publish=yes` opens the form. */
export function PublicationCard() {
  const { app, params, why } = useApp();
  const [asked, setAsked] = useSearchValue('publish');
  const isThere = app.record !== 'deleted';
  const mayLook = isThere && why(listPublicationsOfApp) === null;
  const requests = useAnswer(
    listPublicationsOfApp,
    { params, query: { per_page: shownMax } },
    { enabled: mayLook, everyMs: (last) => (hasPending(last?.items ?? []) ? pendingMs : false) },
  );
  const mayAsk = isThere && why(requestPublication) === null;
  const site = useAnswer(getSite, { params }, { enabled: mayAsk && app.deploy_method === 'static' });
  const open = requests.data?.items.find(({ status }) => status === 'pending');
  const queries = useQueryClient();
  const waiting = useRef<string | null>(null);
  // What was decided elsewhere changes the app as well.
  useEffect(() => {
    if (requests.data === undefined) return;
    const before = waiting.current;
    waiting.current = open?.id ?? null;
    if (before !== null && before !== waiting.current) void queries.invalidateQueries();
  }, [requests.data, open?.id, queries]);
  const past = requests.data?.items.filter(({ status }) => status !== 'pending') ?? [];
  const staged = site.data?.staged_release ?? null;
  const active = site.data?.active_release ?? null;
  const reason =
    why(requestPublication) ??
    whyNotPublish(app, { hasOpen: open !== undefined, hasStaged: staged !== null });
  return (
    <Section title="Who sees it">
      <Group gap="xs">
        <StateBadge state={app.visibility} label={visibilityNames[app.visibility]} />
        <Text>Seen by {seenBy[app.visibility]}.</Text>
      </Group>
      {open && <OpenRequest request={open} />}
      {asked === 'yes' && reason === null ? (
        <PublicationForm staged={staged} active={active} close={() => setAsked('')} />
      ) : (
        (mayLook || app.relation !== 'none') && (
          <Stack gap="xs" align="flex-start">
            <MayButton
              why={reason}
              variant="default"
              leftSection={<IconWorld size={16} aria-hidden />}
              onClick={() => setAsked('yes')}
              data-opens="publication"
            >
              Request publication
            </MayButton>
          </Stack>
        )
      )}
      {past.length > 0 && <PublicationHistory requests={past} />}
    </Section>
  );
}
