import { Group, Stack, TextInput } from '@mantine/core';
import { transferOwnership } from '@svc/contract/owners.ts';
import { usePreviewError } from '../../../api/use-endpoint.ts';
import { FormElement, SubmitButton } from '../../../components/form-card.tsx';
import { Section } from '../../../components/page-layout.tsx';
import { ProblemAlert } from '../../../components/problem-alert.tsx';
import { Hint } from '../../../components/text.tsx';
import { useForm } from '../../../components/use-form.ts';
import { useApp } from '../use-app.tsx';

export function TransferForm() {
  const { app, params, tenant } = useApp();
  const whyNotTransfer = useWhyNotTransfer();
  const record = { to: '' };
  const form = useForm(transferOwnership, record, {
    title: 'Transfer ownership',
    done: 'Ownership transferred. Both owners are notified.',
    whyNot: ({ to }) =>
      whyNotTransfer ?? (to.trim() === '' ? 'Enter the e-mail address of the new owner first.' : null),
    input: ({ to }) => ({ params, body: { to: to.trim() } }),
  });
  return (
    <Section
      tone="danger"
      title="Transfer ownership"
      lead="The new owner represents the app; the present owner becomes a co-owner. Only the new owner can transfer it back."
    >
      <FormElement form={form} aria-label="Transfer ownership">
        <Stack gap="sm">
          <Group align="flex-end" gap="sm">
            <TextInput
              {...form.field('to')}
              label="E-mail address of the new owner"
              type="email"
              autoComplete="off"
              w={{ base: '100%', xs: 320 }}
            />
            <SubmitButton form={form} color="red" variant="outline">
              Transfer
            </SubmitButton>
          </Group>
          {tenant.role === 'tenant_admin' && app.relation !== 'owner' && (
            <Hint>
              As an admin you can transfer it only if its owner is suspended or has left the tenant.
            </Hint>
          )}
          <ProblemAlert error={form.problem} />
        </Stack>
      </FormElement>
    </Section>
  );
}

/**
 * The permission table does not express that admins may transfer an app only if its owner is gone, so the server
 * previews a transfer to the present owner.
 */
function useWhyNotTransfer(): string | null {
  const { app, params, tenant, why } = useApp();
  const notOne = why(transferOwnership);
  const isAsked = notOne !== null && tenant.role === 'tenant_admin';
  const refusal = usePreviewError(
    transferOwnership,
    { params, body: { to: app.owner_id } },
    { enabled: isAsked, code: 'forbidden' },
  );
  return isAsked ? refusal : notOne;
}
