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
  const moves = [
    ...(release.state === 'draft'
      ? [{ name: 'Finish', why: reason('finalize', endpoints.finalizeRelease), change: finalize }]
      : []),
    { name: 'Stage', why: reason('stage', endpoints.stageRelease), change: stage },
  ];
  const ends = [
    { name: 'Activate', why: reason('activate', endpoints.activateRelease), change: activate },
    { name: 'Roll back', why: reason('rollback', endpoints.rollbackRelease), change: rollback },
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
            loading={move.change.isBusy}
            onClick={() => void move.change.propose({ params })}
          >
            {move.name}
          </MayButton>
        ))}
        <MayButton
          variant="default"
          why={reason('requestPromotion', endpoints.requestPromotion)}
          onClick={() => setAsked('requestPromotion')}
        >
          Request promotion
        </MayButton>
        <MayButton
          color="green"
          variant="default"
          why={reason('approvePromotion', endpoints.approvePromotion)}
          onClick={() => setAsked('approvePromotion')}
        >
          Approve
        </MayButton>
        <MayButton
          variant="default"
          why={reason('rejectPromotion', endpoints.rejectPromotion) ?? isOwnRequest}
          onClick={() => setAsked('rejectPromotion')}
        >
          Reject
        </MayButton>
        {ends.map((move) => (
          <MayButton
            key={move.name}
            variant="default"
            why={move.why}
            loading={move.change.isBusy}
            onClick={() => void move.change.propose({ params })}
          >
            {move.name}
          </MayButton>
        ))}
        <MayButton
          variant="default"
          why={reason('revoke', endpoints.revokeRelease)}
          loading={revoke.isBusy}
          onClick={() => void revoke.propose({ params })}
        >
          Revoke
        </MayButton>
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
