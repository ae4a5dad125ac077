import { Radio, Stack, Text, Textarea } from '@mantine/core';
import { visibilities } from '@svc/contract/apps.ts';
import type { Answer } from '@svc/contract/endpoint.ts';
import { publicationTextCharsMax, publishedVisibilities, requestPublication } from '@svc/contract/review.ts';
import type { getSite } from '@svc/contract/static-sites.ts';
import { useFormFocus } from '../../../components/focus.ts';
import { FormElement, FormEnd, SubmitButton } from '../../../components/form-card.tsx';
import { visibilityNames, visibleTo } from '../../../components/format.ts';
import { Mono, SecondaryButton } from '../../../components/text.tsx';
import { useForm } from '../../../components/use-form.ts';
import { waitingScopes } from '../rules.ts';
import { useApp } from '../use-app.tsx';

type ReleaseOfSite = Answer<NonNullable<typeof getSite.shape>>['active_release'];

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
  const ref = useFormFocus('publication');
  const scopes = waitingScopes(app);
  const wider = publishedVisibilities.filter(
    (one) =>
      visibilities.indexOf(one) > visibilities.indexOf(app.visibility) ||
      (one === app.visibility && scopes.length > 0),
  );
  const record = {
    visibility: wider[0] ?? ('internet' as const),
    version: active || !staged ? 'live' : 'staged',
    note: '',
  };
  const form = useForm(requestPublication, record, {
    title: 'Request publication',
    verb: 'Send request',
    done: 'Request sent. The tenant admins are notified.',
    onDone: close,
    input: ({ visibility, version, note }) => ({
      params,
      body: { visibility, note, deployment_id: version === 'staged' ? staged?.id : undefined },
    }),
  });
  return (
    <FormElement ref={ref} form={form} aria-label="Request publication">
      <Stack>
        <Radio.Group
          {...form.field('visibility')}
          label="Visible to"
          description="A tenant admin decides. Nothing changes until then."
        >
          <Stack gap="xs" mt="xs">
            {wider.map((one) => (
              <Radio
                key={one}
                value={one}
                label={visibilityNames[one]}
                description={`Visible to ${visibleTo[one]}`}
              />
            ))}
          </Stack>
        </Radio.Group>
        {staged && staged.id !== active?.id && (
          <Radio.Group {...form.field('version')} label="Version to review">
            <Stack gap="xs" mt="xs">
              {active && <Radio value="live" label={`Live: release ${releaseLabel(active)}`} />}
              <Radio
                value="staged"
                label={`Staged: release ${releaseLabel(staged)}`}
                description="Approval also publishes it"
              />
            </Stack>
          </Radio.Group>
        )}
        {scopes.length > 0 && (
          <Text size="sm">
            The approval also approves the data scopes <Mono>{scopes.join(', ')}</Mono>.
          </Text>
        )}
        <Textarea
          {...form.field('note')}
          label="Note for the reviewer"
          description="What the app is for, and what to check."
          maxLength={publicationTextCharsMax}
        />
        <FormEnd form={form}>
          <SubmitButton form={form}>Preview request</SubmitButton>
          <SecondaryButton onClick={close}>Cancel</SecondaryButton>
        </FormEnd>
      </Stack>
    </FormElement>
  );
}

const releaseLabel = ({ version, number }: { version: string; number: number }) => version || String(number);
