import { Alert, Badge, Group, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import type { Answer } from '@svc/contract/endpoint.ts';
import {
  factorNameCharsMax,
  listFactors,
  removeFactor,
  renameFactor,
  resetRecoveryCodes,
} from '@svc/contract/factors.ts';
import { IconDeviceMobile, IconFingerprint } from '@tabler/icons-react';
import { useState } from 'react';
import { useEndpoint } from '../../api/use-endpoint.ts';
import { ActionButton, RowButton } from '../../components/buttons.tsx';
import { DataTable } from '../../components/data-table.tsx';
import { FormDialog } from '../../components/dialog.tsx';
import { TimeText } from '../../components/display.tsx';
import { Section } from '../../components/page-layout.tsx';
import { QueryView } from '../../components/query-view.tsx';
import { Hint } from '../../components/text.tsx';
import { useForm } from '../../components/use-form.ts';
import { AddApp, AddPasskey, CodesDialog } from './add-factor.tsx';

type Factor = Answer<NonNullable<typeof listFactors.shape>>['items'][number];
type Open =
  | { kind: 'passkey' | 'app' | 'codes' }
  | { kind: 'rename' | 'remove'; factor: Factor }
  | { kind: 'shown'; codes: readonly string[] };

const kinds = {
  passkey: { label: 'Passkey', icon: IconFingerprint },
  totp: { label: 'Authenticator app', icon: IconDeviceMobile },
} as const;

export function Factors() {
  const answer = useEndpoint(listFactors, {});
  const [open, setOpen] = useState<Open | null>(null);
  const close = () => setOpen(null);
  const showCodes = (codes: readonly string[]) => setOpen(codes.length > 0 ? { kind: 'shown', codes } : null);
  return (
    <Section
      title="Second factors"
      lead="With a second factor, a stolen password is not enough to sign in. A passkey also signs you in without the password."
    >
      <QueryView answer={answer}>
        {({ items, recovery_codes_left: left, required }) => (
          <Stack>
            {items.length === 0 ? (
              <Alert color={required ? 'yellow' : 'blue'}>
                {required
                  ? 'One of your tenants requires a second factor: you will be asked to add one when you next sign in.'
                  : 'You have no second factor yet.'}
              </Alert>
            ) : (
              <FactorTable factors={items} onOpen={setOpen} />
            )}
            <Group>
              <ActionButton icon={IconFingerprint} onClick={() => setOpen({ kind: 'passkey' })}>
                Add a passkey
              </ActionButton>
              <ActionButton icon={IconDeviceMobile} onClick={() => setOpen({ kind: 'app' })}>
                {items.some(({ kind }) => kind === 'totp')
                  ? 'Replace the authenticator app'
                  : 'Add an authenticator app'}
              </ActionButton>
              <ActionButton
                why={items.length === 0 ? 'Add a passkey or an authenticator app first.' : null}
                onClick={() => setOpen({ kind: 'codes' })}
              >
                New recovery codes
              </ActionButton>
            </Group>
            {items.length > 0 && (
              <Hint>
                {left} recovery {left === 1 ? 'code is' : 'codes are'} left. Each signs you in once when you
                cannot use your second factor.
              </Hint>
            )}
          </Stack>
        )}
      </QueryView>
      {open?.kind === 'passkey' && <AddPasskey close={close} onAdded={showCodes} />}
      {open?.kind === 'app' && <AddApp close={close} onAdded={showCodes} />}
      {open?.kind === 'codes' && <NewCodes close={close} onDone={showCodes} />}
      {open?.kind === 'rename' && <Rename factor={open.factor} close={close} />}
      {open?.kind === 'remove' && <Remove factor={open.factor} close={close} />}
      {open?.kind === 'shown' && <CodesDialog codes={open.codes} close={close} />}
    </Section>
  );
}

function FactorTable({ factors, onOpen }: { factors: readonly Factor[]; onOpen: (open: Open) => void }) {
  return (
    <DataTable
      label="Second factors"
      minWidth={560}
      rows={factors}
      columns={[
        {
          head: 'Name',
          cell: ({ kind, name }) => {
            const { label, icon: Icon } = kinds[kind];
            return (
              <Group gap="sm" wrap="nowrap">
                <Icon size={20} aria-hidden />
                <Text fw={600}>{name}</Text>
                {name !== label && (
                  <Badge variant="light" radius="sm" tt="none">
                    {label}
                  </Badge>
                )}
              </Group>
            );
          },
        },
        { head: 'Added', cell: (factor) => <TimeText value={factor.created_at} /> },
        { head: 'Last used', cell: (factor) => <TimeText value={factor.last_used_at} empty="never" /> },
        {
          head: 'Actions',
          cell: (factor) => (
            <Group gap="xs">
              <RowButton
                verb="Rename"
                name={factor.name}
                onClick={() => onOpen({ kind: 'rename', factor })}
              />
              <RowButton
                verb="Remove"
                name={factor.name}
                color="red"
                onClick={() => onOpen({ kind: 'remove', factor })}
              />
            </Group>
          ),
        },
      ]}
    />
  );
}

function Rename({ factor, close }: { factor: Factor; close: () => void }) {
  const form = useForm(
    renameFactor,
    { name: factor.name },
    {
      title: 'Rename a second factor',
      done: 'Renamed.',
      errors: ({ name }) => ({ name: name.trim() === '' && 'must not be empty' }),
      input: ({ name }) => ({ params: { factorID: factor.id }, body: { name } }),
    },
  );
  return (
    <FormDialog title="Rename" form={form} onClose={close} onPreview={close}>
      <TextInput {...form.field('name')} maxLength={factorNameCharsMax} required />
    </FormDialog>
  );
}

const emptyPassword = { password: '' };
const passwordError = ({ password }: { password: string }) => ({
  password: password === '' && 'must not be empty',
});

function Remove({ factor, close }: { factor: Factor; close: () => void }) {
  const form = useForm(removeFactor, emptyPassword, {
    title: 'Remove a second factor',
    verb: 'Remove',
    done: 'Second factor removed.',
    errors: passwordError,
    input: (body) => ({ params: { factorID: factor.id }, body }),
  });
  return (
    <FormDialog title={`Remove ${factor.name}`} form={form} onClose={close} onPreview={close}>
      <PasswordInput {...form.field('password')} autoComplete="current-password" required />
    </FormDialog>
  );
}

function NewCodes({ close, onDone }: { close: () => void; onDone: (codes: readonly string[]) => void }) {
  const form = useForm(resetRecoveryCodes, emptyPassword, {
    title: 'Replace your recovery codes',
    verb: 'Replace',
    done: 'Recovery codes replaced.',
    onDone: ({ recovery_codes }) => onDone(recovery_codes),
    errors: passwordError,
    input: (body) => ({ body }),
  });
  return (
    <FormDialog title="New recovery codes" form={form} onClose={close}>
      <Text size="sm">The codes that you have now will stop working.</Text>
      <PasswordInput {...form.field('password')} autoComplete="current-password" required />
    </FormDialog>
  );
}
