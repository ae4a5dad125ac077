import { Group, Stack } from '@mantine/core';
import type { ReleaseMove } from '@svc/contract/release-moves.ts';
import * as endpoints from '@svc/contract/static-sites.ts';
import { useState } from 'react';
import { useMe } from '../../../api/me.ts';
import { useChange } from '../../../change/use-change.ts';
import { MayButton } from '../../../parts/may-button.tsx';
import { ProblemAlert } from '../../../parts/problem-alert.tsx';
import { useApp } from '../use-app.ts';
import type { ReleaseView, SiteView } from './release-view.ts';
import { whyNotMove } from './why-not-move.ts';
import { WordsDialog } from './words-dialog.tsx';

type Words = 'requestPromotion' | 'approvePromotion' | 'rejectPromotion';

interface Proposed {
  isBusy: boolean;
  propose(input: { params: { tenantID: string; app: string; release: string } }): Promise<boolean>;
}

/** All that can be done with a release; what can not be done now says why. */
export function ReleaseMoves({ release, site }: { release: ReleaseView; site: SiteView }) {
  const { app, params: ofApp, why } = useApp();
  const me = useMe();
  const [asked, setAsked] = useState<Words | null>(null);
  const params = { ...ofApp, release: release.id };
  const close = () => setAsked(null);

  const finalize = useChange(
    endpoints.finalizeRelease,
    texts('Finish the release', 'Finish', 'It is finished.'),
  );
  const stage = useChange(endpoints.stageRelease, texts('Stage the release', 'Stage', 'It is staged.'));
  const activate = useChange(
    endpoints.activateRelease,
    texts('Show the release to visitors', 'Activate', 'Visitors see it now.'),
  );
  const rollback = useChange(
    endpoints.rollbackRelease,
    texts('Roll back to this release', 'Roll back', 'Visitors see it again.'),
  );
  const revoke = useChange(
    endpoints.revokeRelease,
    texts('Revoke the release', 'Revoke', 'It is never shown again.'),
  );
  const request = useChange(
    endpoints.requestPromotion,
    texts('Request promotion', 'Request promotion', 'Reviewers are told.'),
  );
  const approve = useChange(
    endpoints.approvePromotion,
    texts('Approve the promotion', 'Approve', 'It is approved, and shown.'),
  );
  const reject = useChange(
    endpoints.rejectPromotion,
    texts('Reject the promotion', 'Reject', 'It is rejected, and stays staged.'),
  );

  const reason = (move: ReleaseMove, endpoint: Parameters<typeof why>[0]) =>
    why(endpoint) ?? whyNotMove(move, { release, site, app });
  const isOwnRequest =
    site.promotion?.release_id === release.id && site.promotion.requested_by === me.id
      ? 'You asked for it yourself, so somebody else decides. To take it back, stage another release.'
      : null;
  // Some are proposed as they are, others with a few words that are asked for first.
  const proposed = (change: Proposed) => ({
    isBusy: change.isBusy,
    begin: () => void change.propose({ params }),
  });
  const worded = (words: Words) => ({ isBusy: false, begin: () => setAsked(words) });
  const moves = [
    ...(release.state === 'draft'
      ? [{ name: 'Finish', why: reason('finalize', endpoints.finalizeRelease), ...proposed(finalize) }]
      : []),
    { name: 'Stage', why: reason('stage', endpoints.stageRelease), ...proposed(stage) },
    {
      name: 'Request promotion',
      why: reason('requestPromotion', endpoints.requestPromotion),
      ...worded('requestPromotion'),
    },
    {
      name: 'Approve',
      why: reason('approvePromotion', endpoints.approvePromotion),
      ...worded('approvePromotion'),
    },
    {
      name: 'Reject',
      why: reason('rejectPromotion', endpoints.rejectPromotion) ?? isOwnRequest,
      ...worded('rejectPromotion'),
    },
    { name: 'Activate', why: reason('activate', endpoints.activateRelease), ...proposed(activate) },
    { name: 'Roll back', why: reason('rollback', endpoints.rollbackRelease), ...proposed(rollback) },
    { name: 'Revoke', why: reason('revoke', endpoints.revokeRelease), ...proposed(revoke) },
  ];
  const problems = [finalize, stage, activate, rollback, revoke]
    .map(({ problem }) => problem)
    .filter((problem) => problem !== null);

  return (
    <Stack gap="sm">
      <Group gap="sm" role="group" aria-label="What can be done with this release">
        {moves.map((move) => (
          <MayButton
            key={move.name}
            variant="default"
            why={move.why}
            loading={move.isBusy}
            onClick={move.begin}
          >
            {move.name}
          </MayButton>
        ))}
      </Group>
      {problems.map((problem) => (
        <ProblemAlert key={String(problem)} error={problem} />
      ))}
      {asked === 'requestPromotion' && (
        <WordsDialog
          title="Request promotion"
          label="What should reviewers look at?"
          change={request}
          close={close}
          propose={(note) => request.propose({ params, body: { note } })}
        />
      )}
      {asked === 'approvePromotion' && (
        <WordsDialog
          title="Approve the promotion"
          label="A word for who asked for it"
          change={approve}
          close={close}
          // The very bytes that this page shows, and nothing that took their place meanwhile.
          propose={(note) => approve.propose({ params, body: { note, digest: release.digest } })}
        />
      )}
      {asked === 'rejectPromotion' && (
        <WordsDialog
          title="Reject the promotion"
          label="Why"
          isRequired
          change={reject}
          close={close}
          propose={(text) => reject.propose({ params, body: { reason: text } })}
        />
      )}
    </Stack>
  );
}

const texts = (title: string, verb: string, done: string) => ({ title, verb, done });
