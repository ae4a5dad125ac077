import { Alert, Group, Paper, Stack, Textarea, type TextareaProps } from '@mantine/core';
import { IconInfoCircle } from '@tabler/icons-react';
import type { ComponentProps, ReactNode, Ref } from 'react';
import { Link } from 'wouter';
import { ActionButton } from './buttons.tsx';
import { ProblemAlert } from './problem-alert.tsx';
import { Heading, SecondaryButton } from './text.tsx';

export const descriptionBelow: ('label' | 'input' | 'description' | 'error')[] = [
  'label',
  'input',
  'description',
  'error',
];

interface FormState {
  submit(): Promise<boolean>;
  whyNot: string | null;
  isBusy: boolean;
  problem: unknown;
  conflicts: readonly PropertyKey[];
}

/** The server validates, not the browser, so that errors read the same everywhere. */
export function FormElement({
  form,
  onPreview,
  ...rest
}: { form: FormState; onPreview?: (() => void) | undefined } & ComponentProps<'form'>) {
  return (
    <form
      noValidate
      {...rest}
      onSubmit={async (event) => {
        event.preventDefault();
        if (await form.submit()) onPreview?.();
      }}
    />
  );
}

export function FormCard({
  title,
  label,
  ref,
  form,
  submit,
  color,
  cancel,
  actions,
  children,
}: {
  title: string;
  label?: string;
  ref?: Ref<HTMLFormElement>;
  form: FormState;
  submit: string;
  color?: 'red';
  cancel?: string | (() => void);
  actions?: ReactNode;
  children: ReactNode;
}) {
  return (
    <Paper withBorder p={{ base: 'md', sm: 'lg' }}>
      <FormElement ref={ref} form={form} aria-label={label}>
        <Stack>
          <Heading>{title}</Heading>
          {children}
          <FormEnd form={form} justify="space-between">
            <Group>
              <SubmitButton form={form} color={color}>
                {submit}
              </SubmitButton>
              {typeof cancel === 'string' && (
                <SecondaryButton component={Link} href={cancel}>
                  Cancel
                </SecondaryButton>
              )}
              {typeof cancel === 'function' && <SecondaryButton onClick={cancel}>Cancel</SecondaryButton>}
            </Group>
            {actions}
          </FormEnd>
        </Stack>
      </FormElement>
    </Paper>
  );
}

export function FormEnd({
  form,
  justify,
  children,
}: {
  form: FormState;
  justify?: 'flex-end' | 'space-between';
  children: ReactNode;
}) {
  return (
    <>
      <ConflictAlert fields={form.conflicts} />
      <ProblemAlert error={form.problem} />
      <Group justify={justify}>{children}</Group>
    </>
  );
}

export function SubmitButton({
  form,
  children,
  ...rest
}: { form: FormState; children: ReactNode } & Omit<
  ComponentProps<typeof ActionButton>,
  'form' | 'why' | 'onClick'
>) {
  return (
    <ActionButton
      variant="filled"
      type="submit"
      why={form.whyNot}
      loading={form.isBusy}
      onClick={() => {}}
      {...rest}
    >
      {children}
    </ActionButton>
  );
}

/** Approves or rejects a request. Without `text` the button has no field for a note or reason. */
export function DecisionForm({
  form,
  verb,
  text,
  fields,
  actions,
  hint,
}: {
  form: FormState;
  verb: 'Approve' | 'Reject';
  text: TextareaProps | null;
  fields?: ReactNode;
  actions?: ReactNode;
  hint?: ReactNode;
}) {
  const look = verb === 'Reject' ? ({ color: 'red', variant: 'outline' } as const) : {};
  return (
    <FormElement form={form}>
      <Stack gap="sm">
        {fields}
        {text && <Textarea {...text} />}
        <Group>
          <SubmitButton form={form} {...look}>
            {verb}
          </SubmitButton>
          {actions}
        </Group>
        {hint}
      </Stack>
    </FormElement>
  );
}

function ConflictAlert({ fields }: { fields: readonly PropertyKey[] }) {
  if (fields.length === 0) return null;
  const names = fields.map((field) => String(field).replaceAll('_', ' ')).join(', ');
  return (
    <Alert color="yellow" icon={<IconInfoCircle aria-hidden />} role="status" title="Changed meanwhile">
      Somebody else changed this while you were editing: {names}. Your input is still here; saving replaces
      their change.
    </Alert>
  );
}
