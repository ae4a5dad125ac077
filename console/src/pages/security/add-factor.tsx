import {
  Button,
  Code,
  CopyButton,
  Group,
  PasswordInput,
  SimpleGrid,
  Stack,
  Text,
  TextInput,
} from '@mantine/core';
import { startRegistration } from '@simplewebauthn/browser';
import type { Answer } from '@svc/contract/endpoint.ts';
import { addPasskey, addTotp, factorNameCharsMax, startPasskey, startTotp } from '@svc/contract/factors.ts';
import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useState } from 'react';
import { client, randomKey } from '../../api/client.ts';
import { useTask } from '../../change/use-change.ts';
import { BusyButton } from '../../components/buttons.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { ProblemAlert } from '../../components/problem-alert.tsx';
import { SecondaryButton } from '../../components/text.tsx';
import { useToast } from '../../components/toasts.tsx';
import { type Fields, useFields } from '../../components/use-form.ts';

interface AddProps {
  close: () => void;
  /** `codes` are the recovery codes, which only a first factor has. */
  onAdded: (codes: readonly string[]) => void;
}

/** The browser's own dialog is the confirmation, so there is no preview. */
export function AddPasskey({ close, onAdded }: AddProps) {
  const { values, field } = useFields({ name: 'Passkey', password: '' });
  const { run, isBusy, problem, finish } = useAdding(onAdded, 'Passkey added.');
  const add = () =>
    run(async () => {
      const { options } = await client.call(startPasskey, { body: { password: values.password } });
      const response = await startRegistration({ optionsJSON: options as never });
      const input = { body: { name: values.name, response: { ...response } } };
      finish(await client.call(addPasskey, input, { idempotencyKey: randomKey() }));
    });
  return (
    <Dialog title="Add a passkey" onClose={close} isBusy={isBusy}>
      <Steps submit="Create the passkey" onSubmit={add} close={close} isBusy={isBusy} problem={problem}>
        <Text size="sm">Your browser asks for your fingerprint, face, PIN or security key.</Text>
        <TextInput
          {...field('name')}
          description="Reminds you where the passkey is."
          maxLength={factorNameCharsMax}
          required
        />
        <CurrentPassword field={field('password')} />
      </Steps>
    </Dialog>
  );
}

export function AddApp({ close, onAdded }: AddProps) {
  const {
    values: { password, code },
    field,
  } = useFields({ password: '', code: '' });
  const [setup, setSetup] = useState<Answer<NonNullable<typeof startTotp.shape>> | null>(null);
  const { run, isBusy, problem, finish } = useAdding(onAdded, 'Authenticator app added.');
  const start = () => run(async () => setSetup(await client.call(startTotp, { body: { password } })));
  const add = () =>
    run(async () => finish(await client.call(addTotp, { body: { code } }, { idempotencyKey: randomKey() })));
  return (
    <Dialog title="Add an authenticator app" onClose={close} isBusy={isBusy}>
      {setup === null ? (
        <Steps submit="Continue" onSubmit={start} close={close} isBusy={isBusy} problem={problem}>
          <CurrentPassword field={field('password')} />
        </Steps>
      ) : (
        <Steps submit="Add the app" onSubmit={add} close={close} isBusy={isBusy} problem={problem}>
          <Text size="sm">Scan the QR code with the app, or type the key.</Text>
          <Group justify="center">
            <img
              src={`data:image/svg+xml,${encodeURIComponent(setup.qr_svg)}`}
              alt="QR code for the authenticator app"
              width={192}
              height={192}
            />
          </Group>
          <Code block ta="center" data-testid="totp-key">
            {setup.secret.match(/.{1,4}/g)?.join(' ')}
          </Code>
          <TextInput
            {...field('code')}
            label="Code that the app shows"
            inputMode="numeric"
            autoComplete="one-time-code"
            maxLength={10}
            required
            data-autofocus
          />
        </Steps>
      )}
    </Dialog>
  );
}

function useAdding(onAdded: AddProps['onAdded'], done: string) {
  const task = useTask();
  const queries = useQueryClient();
  const showToast = useToast();
  const finish = ({ recovery_codes }: { recovery_codes: readonly string[] }) => {
    showToast(done);
    void queries.invalidateQueries();
    onAdded(recovery_codes);
  };
  return { ...task, finish };
}

function CurrentPassword({ field }: { field: ReturnType<Fields<{ password: string }>['field']> }) {
  return <PasswordInput {...field} label="Your password" autoComplete="current-password" required />;
}

function Steps(props: {
  submit: string;
  onSubmit: () => void;
  close: () => void;
  isBusy: boolean;
  problem: unknown;
  children: ReactNode;
}) {
  const send = (event: FormEvent) => {
    event.preventDefault();
    props.onSubmit();
  };
  return (
    <form onSubmit={send}>
      <Stack>
        {props.children}
        <ProblemAlert error={props.problem} />
        <Group justify="flex-end">
          <SecondaryButton onClick={props.close}>Cancel</SecondaryButton>
          <BusyButton type="submit" loading={props.isBusy}>
            {props.submit}
          </BusyButton>
        </Group>
      </Stack>
    </form>
  );
}

export function CodesDialog({ codes, close }: { codes: readonly string[]; close: () => void }) {
  return (
    <Dialog title="Store your recovery codes" onClose={close}>
      <Stack>
        <Text size="sm">
          Each signs you in once when you cannot use your second factor. They are not shown again.
        </Text>
        <SimpleGrid cols={2} spacing="xs">
          {codes.map((code) => (
            <Code key={code} block ta="center" className="recovery-code">
              {code}
            </Code>
          ))}
        </SimpleGrid>
        <Group justify="flex-end">
          <CopyButton value={codes.join('\n')}>
            {({ copied, copy }) => (
              <SecondaryButton onClick={copy}>{copied ? 'Copied' : 'Copy all'}</SecondaryButton>
            )}
          </CopyButton>
          <Button onClick={close}>I have stored them</Button>
        </Group>
      </Stack>
    </Dialog>
  );
}
