import { Checkbox, MultiSelect, NumberInput, Stack, TextInput } from '@mantine/core';
import { listMyApps } from '@svc/contract/app-lists.ts';
import { createPat, patLifeDaysDefault, patLifeDaysMax, patNameCharsMax } from '@svc/contract/identity.ts';
import { perPageMax } from '@svc/contract/limits.ts';
import { describePatAction, type PatAction, patActions } from '@svc/contract/pat-actions.ts';
import { useTenant } from '../../api/me.ts';
import { useEndpoint } from '../../api/use-endpoint.ts';
import { useFormFocus } from '../../components/focus.ts';
import { FormCard } from '../../components/form-card.tsx';
import { useForm } from '../../components/use-form.ts';

const emptyToken = {
  name: '',
  apps: [] as string[],
  actions: ['read'] as PatAction[],
  expires_in_days: patLifeDaysDefault as number,
};

const daysError = (days: number) =>
  days >= 1 && days <= patLifeDaysMax ? undefined : `must be 1 to ${patLifeDaysMax}`;

export function NewToken({ close, onCreated }: { close: () => void; onCreated: (secret: string) => void }) {
  const params = { tenantID: useTenant().id };
  const ref = useFormFocus('new-token');
  const apps = useEndpoint(listMyApps, { params, query: { per_page: perPageMax } }).data?.items ?? [];
  const form = useForm(createPat, emptyToken, {
    title: 'Create a token',
    done: 'Token created.',
    onDone: ({ secret }) => onCreated(secret),
    errors: ({ name, actions, expires_in_days }) => ({
      name: name.trim() === '' && 'must not be empty',
      actions: actions.length === 0 && 'choose at least one',
      expires_in_days: daysError(expires_in_days),
    }),
    input: (body) => ({ params, body }),
  });
  const { field } = form;
  const days = field('expires_in_days');
  return (
    <FormCard ref={ref} title="New token" form={form} submit="Create token" cancel={close}>
      <TextInput
        {...field('name')}
        description="Reminds you where the token is used."
        placeholder="CI of the booking app"
        maxLength={patNameCharsMax}
        required
        maw={640}
      />
      <MultiSelect
        {...field('apps')}
        description="Empty: every app that you have access to."
        data={apps.map((app) => ({ value: app.id, label: app.name }))}
        searchable
        clearable
        clearButtonProps={{ 'aria-label': 'Clear apps' }}
        maw={640}
      />
      <Checkbox.Group {...field('actions')} description="The token can do only what you choose here.">
        <Stack mt="xs" gap="xs">
          {patActions.map((action) => (
            <Checkbox key={action} value={action} label={action} description={describePatAction(action)} />
          ))}
        </Stack>
      </Checkbox.Group>
      <NumberInput
        {...days}
        label="Days until it expires"
        description={`At most ${patLifeDaysMax}.`}
        error={daysError(form.values.expires_in_days) ?? days.error}
        min={1}
        max={patLifeDaysMax}
        allowDecimal={false}
        clampBehavior="none"
        maw={220}
      />
    </FormCard>
  );
}
