import { Group, Stack, Textarea } from '@mantine/core';
import type { Endpoint, Input, Shape } from '@svc/contract/endpoint.ts';
import type { ReleaseMove } from '@svc/contract/release-moves.ts';
import * as endpoints from '@svc/contract/static-sites.ts';
import { useState } from 'react';
import { useMe } from '../../../api/me.ts';
import { type ChangeOptions, useChange } from '../../../change/use-change.ts';
import { ActionButton } from '../../../components/buttons.tsx';
import { FormDialog } from '../../../components/dialog.tsx';
import { ProblemAlerts } from '../../../components/problem-alert.tsx';
import { useForm } from '../../../components/use-form.ts';
import { useApp } from '../use-app.tsx';
import { type Release, type Site, whyNotMoveRelease } from './release.tsx';

type NotedMove = 'requestPromotion' | 'approvePromotion' | 'rejectPromotion';

export function ReleaseActions({ release, site }: { release: Release; site: Site }) {
  const { app, params: appParams, why } = useApp();
  const me = useMe();
  const [noted, setNoted] = useState<NotedMove | null>(null);
  const params = { ...appParams, release: release.id };
  const finalize = useChange(endpoints.finalizeRelease, {
    title: 'Finish the release',
    done: 'Release finished.',
  });
  const stage = useChange(endpoints.stageRelease, { title: 'Stage the release', done: 'Release staged.' });
  const activate = useChange(endpoints.activateRelease, {
    title: 'Activate the release',
    done: 'The release is live.',
  });
  const rollback = useChange(endpoints.rollbackRelease, {
    title: 'Roll back to this release',
    verb: 'Roll back',
    done: 'The release is live again.',
  });
  const revoke = useChange(endpoints.revokeRelease, {
    title: 'Revoke the release',
    done: 'Release revoked.',
  });
  const reason = (move: ReleaseMove, endpoint: Parameters<typeof why>[0]) =>
    why(endpoint) ?? whyNotMoveRelease(move, { release, site, app });
  const isOwnRequest =
    site.promotion?.release_id === release.id && site.promotion.requested_by === me.id
      ? 'You requested the promotion, so somebody else decides. To withdraw it, stage another release.'
      : null;
  const direct = (change: {
    isBusy: boolean;
    propose(input: { params: typeof params }): Promise<boolean>;
  }) => ({ isBusy: change.isBusy, start: () => void change.propose({ params }) });
  const withNote = (move: NotedMove) => ({ isBusy: false, start: () => setNoted(move) });
  const finish = { name: 'Finish', why: reason('finalize', endpoints.finalizeRelease), ...direct(finalize) };
  const moves = [
    ...(release.state === 'draft' ? [finish] : []),
    { name: 'Stage', why: reason('stage', endpoints.stageRelease), ...direct(stage) },
    {
      name: 'Request promotion',
      why: reason('requestPromotion', endpoints.requestPromotion),
      ...withNote('requestPromotion'),
    },
    {
      name: 'Approve',
      why: reason('approvePromotion', endpoints.approvePromotion),
      ...withNote('approvePromotion'),
    },
    {
      name: 'Reject',
      why: reason('rejectPromotion', endpoints.rejectPromotion) ?? isOwnRequest,
      ...withNote('rejectPromotion'),
    },
    { name: 'Activate', why: reason('activate', endpoints.activateRelease), ...direct(activate) },
    { name: 'Roll back', why: reason('rollback', endpoints.rollbackRelease), ...direct(rollback) },
    { name: 'Revoke', why: reason('revoke', endpoints.revokeRelease), ...direct(revoke) },
  ];
  const close = () => setNoted(null);
  return (
    <Stack gap="sm">
      <Group gap="sm" role="group" aria-label="Release actions">
        {moves.map(({ name, why: whyNot, isBusy, start }) => (
          <ActionButton key={name} why={whyNot} loading={isBusy} onClick={start}>
            {name}
          </ActionButton>
        ))}
      </Group>
      <ProblemAlerts changes={[finalize, stage, activate, rollback, revoke]} />
      {noted === 'requestPromotion' && (
        <NoteDialog
          endpoint={endpoints.requestPromotion}
          title="Request promotion"
          verb="Request promotion"
          done="Reviewers are notified."
          label="What should reviewers look at?"
          input={(note) => ({ params, body: { note } })}
          close={close}
        />
      )}
      {noted === 'approvePromotion' && (
        <NoteDialog
          endpoint={endpoints.approvePromotion}
          title="Approve the promotion"
          done="Promotion approved. The release is live."
          label="Note for the requester"
          // The digest ties the approval to the files that this page shows.
          input={(note) => ({ params, body: { note, digest: release.digest } })}
          close={close}
        />
      )}
      {noted === 'rejectPromotion' && (
        <NoteDialog
          endpoint={endpoints.rejectPromotion}
          title="Reject the promotion"
          done="Promotion rejected. The release stays staged."
          label="Reason"
          isRequired
          input={(note) => ({ params, body: { reason: note } })}
          close={close}
        />
      )}
    </Stack>
  );
}

function NoteDialog<S extends Shape>({
  endpoint,
  label,
  isRequired = false,
  input,
  close,
  ...texts
}: ChangeOptions<S> & {
  endpoint: Endpoint<S>;
  label: string;
  isRequired?: boolean;
  input: (note: string) => Input<S>;
  close: () => void;
}) {
  const record = { note: '' };
  const form = useForm(endpoint, record, {
    ...texts,
    errors: ({ note }) => ({ note: isRequired && note.trim() === '' && 'must not be empty' }),
    input: ({ note }) => input(note.trim()),
  });
  return (
    <FormDialog title={texts.title} form={form} onClose={close} onPreview={close}>
      <Textarea
        {...form.field('note')}
        label={label}
        error={form.error('note') ?? form.error('reason')}
        maxLength={endpoints.promotionTextCharsMax}
        required={isRequired}
        minRows={3}
        data-autofocus
      />
    </FormDialog>
  );
}
