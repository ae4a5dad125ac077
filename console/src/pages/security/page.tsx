import { PasswordInput, Stack, Text } from '@mantine/core';
import { changePassword, listSignIns, passwordCharsMin } from '@svc/contract/identity.ts';
import { useEndpoint } from '../../api/use-endpoint.ts';
import { DataTable } from '../../components/data-table.tsx';
import { TimeText } from '../../components/display.tsx';
import { FormCard } from '../../components/form-card.tsx';
import { PageHead, Section } from '../../components/page-layout.tsx';
import { QueryView } from '../../components/query-view.tsx';
import { useForm } from '../../components/use-form.ts';
import { SessionList } from '../sessions/page.tsx';
import { Factors } from './factors.tsx';

export default function SecurityPage() {
  return (
    <>
      <PageHead title="Security" lead="How you sign in, and where you are signed in." />
      <Stack maw={960}>
        <PasswordForm />
        <Factors />
        <Section title="Sessions" lead="End sessions that you do not recognise.">
          <SessionList />
        </Section>
        <Section title="Recent sign-ins" lead="If you did not make one of these, change your password.">
          <RecentSignIns />
        </Section>
      </Stack>
    </>
  );
}

const emptyPasswords = { current_password: '', new_password: '', repeated: '' };

function PasswordForm() {
  const form = useForm(changePassword, emptyPasswords, {
    title: 'Change your password',
    verb: 'Change password',
    done: 'Password changed. Your other sessions have ended.',
    errors: ({ current_password, new_password, repeated }) => ({
      current_password: current_password === '' && 'must not be empty',
      new_password:
        [...new_password].length < passwordCharsMin && `must be at least ${passwordCharsMin} characters`,
      repeated: repeated !== new_password && 'differs from the new password',
    }),
    input: ({ current_password, new_password }) => ({ body: { current_password, new_password } }),
  });
  const { field } = form;
  const newPassword = field('new_password');
  return (
    <FormCard title="Password" form={form} submit="Change password">
      <PasswordInput {...field('current_password')} autoComplete="current-password" maw={420} required />
      <PasswordInput
        {...newPassword}
        error={newPassword.error ?? form.error('password')}
        description={`At least ${passwordCharsMin} characters. A few unrelated words are hard to guess.`}
        autoComplete="new-password"
        maw={420}
        required
      />
      <PasswordInput
        {...field('repeated')}
        label="New password again"
        autoComplete="new-password"
        maw={420}
        required
      />
    </FormCard>
  );
}

const eventTexts = {
  signed_in: 'Signed in',
  sign_in_failed: 'Failed sign-in',
  device_approved: 'Approved a device',
  token_created: 'Created a token',
  token_issued: 'Token issued by the operator',
  password_changed: 'Password changed',
  factor_added: 'Second factor added',
  factor_removed: 'Second factor removed',
  factors_reset: 'Second factors reset by the operator',
  recovery_codes_replaced: 'Recovery codes replaced',
} as const;

function RecentSignIns() {
  const answer = useEndpoint(listSignIns, { query: { per_page: 20 } });
  return (
    <QueryView answer={answer}>
      {({ items }) =>
        items.length === 0 ? (
          <Text c="dimmed">Nothing has been recorded yet.</Text>
        ) : (
          <DataTable
            label="Recent sign-ins"
            minWidth={560}
            rows={items.map((item, index) => ({ ...item, id: `${item.at} ${index}` }))}
            columns={[
              { head: 'Time', cell: ({ at }) => <TimeText value={at} /> },
              { head: 'Event', cell: ({ event }) => eventTexts[event] },
              { head: 'How', cell: ({ method, name }) => name || method.replaceAll('_', ' ') || '–' },
              { head: 'Device', cell: ({ device }) => device || '–' },
              { head: 'Address', cell: ({ address }) => address || '–' },
            ]}
          />
        )
      }
    </QueryView>
  );
}
