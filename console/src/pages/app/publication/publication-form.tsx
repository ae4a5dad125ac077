import { Button, Group, Radio, Stack, Textarea } from '@mantine/core';
import { visibilities } from '@svc/contract/apps.ts';
import type { Answer } from '@svc/contract/endpoint.ts';
import { publicationTextCharsMax, publishedVisibilities, requestPublication } from '@svc/contract/review.ts';
import type { getSite } from '@svc/contract/static-sites.ts';
import { useState } from 'react';
import { useChange } from '../../../change/use-change.ts';
import { BusyButton } from '../../../parts/busy-button.tsx';
import { ProblemAlert } from '../../../parts/problem-alert.tsx';
import { useFormFocus } from '../../../parts/use-form-focus.ts';
import { seenBy, visibilityNames } from '../../../parts/visibility-texts.ts';
import { useApp } from '../use-app.ts';

type ReleaseOfSite = Answer<NonNullable<typeof getSite.shape>>['active_release'];

/** Asks for a review: to whom it shall be shown, of what, and a word for who decides. */
export function PublicationForm({
  staged,
  active,
  close,
}: {
  staged: ReleaseOfSite;
  active: ReleaseOfSite;
  close: () => void;
}) {
  const { app, params } = useApp();
  const form = useFormFocus('publication');
  const wider = publishedVisibilities.filter(
    (one) => visibilities.indexOf(one) > visibilities.indexOf(app.visibility),
  );
  const [visibility, setVisibility] = useState(wider[0] ?? 'internet');
  const [what, setWhat] = useState<'live' | 'staged'>(active || !staged ? 'live' : 'staged');
  const [note, setNote] = useState('');
  const change = useChange(requestPublication, {
    title: 'Request publication',
    verb: 'Send the request',
    done: 'The request is sent; the tenant admins are told.',
    onDone: close,
  });
  const submit = () =>
    void change.propose({
      params,
      body: { visibility, note, ...(what === 'staged' && staged ? { deployment_id: staged.id } : {}) },
    });
  return (
    <form
      ref={form}
      aria-label="Request publication"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <Stack>
        <Radio.Group
          label="Show it to"
          description="A tenant admin decides; until then nothing changes."
          value={visibility}
          onChange={(value) => setVisibility(wider.find((one) => one === value) ?? visibility)}
          error={change.errorOf('visibility')}
        >
          <Stack gap="xs" mt="xs">
            {wider.map((one) => (
              <Radio
                key={one}
                value={one}
                label={visibilityNames[one]}
                description={`Seen by ${seenBy[one]}`}
              />
            ))}
          </Stack>
        </Radio.Group>
        {staged && staged.id !== active?.id && (
          <Radio.Group
            label="What is to be reviewed"
            value={what}
            onChange={(value) => setWhat(value === 'staged' ? 'staged' : 'live')}
          >
            <Stack gap="xs" mt="xs">
              {active && (
                <Radio value="live" label={`What visitors would see now: release ${named(active)}`} />
              )}
              <Radio
                value="staged"
                label={`What is staged: release ${named(staged)}`}
                description="The approval shows it to visitors as well"
              />
            </Stack>
          </Radio.Group>
        )}
        <Textarea
          label="Note for the reviewer"
          description="What it is for, and what to look at."
          value={note}
          onChange={(event) => setNote(event.currentTarget.value)}
          maxLength={publicationTextCharsMax}
          error={change.errorOf('note')}
          autosize
          minRows={2}
        />
        {change.problem !== null && <ProblemAlert error={change.problem} />}
        <Group>
          <BusyButton type="submit" loading={change.isBusy}>
            Preview the request
          </BusyButton>
          <Button variant="default" onClick={close}>
            Cancel
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

const named = ({ version, number }: { version: string; number: number }) => version || String(number);
