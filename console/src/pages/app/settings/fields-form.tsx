import { Group, Stack } from '@mantine/core';
import type { ReactNode } from 'react';
import { ChangedBelow } from '../../../parts/changed-below.tsx';
import { MayButton } from '../../../parts/may-button.tsx';
import { ProblemAlert } from '../../../parts/problem-alert.tsx';
import { Section } from '../../../parts/section.tsx';

/** Settings that are saved together. */
export function FieldsForm({
  title,
  lead,
  fields,
  verb,
  children,
}: {
  title: string;
  lead: string;
  /** Of `useAppFields`. */
  fields: {
    below: readonly PropertyKey[];
    change: { isBusy: boolean; problem: unknown };
    whyNotSave: string | null;
    save(): void;
  };
  /** On its button. */
  verb: string;
  children: ReactNode;
}) {
  const { below, change, whyNotSave, save } = fields;
  return (
    <Section title={title} lead={lead}>
      <form
        noValidate
        aria-label={title}
        onSubmit={(event) => {
          event.preventDefault();
          save();
        }}
      >
        <Stack>
          {children}
          <ChangedBelow fields={below} />
          {change.problem !== null && <ProblemAlert error={change.problem} />}
          <Group>
            <MayButton type="submit" why={whyNotSave} loading={change.isBusy} onClick={() => {}}>
              {verb}
            </MayButton>
          </Group>
        </Stack>
      </form>
    </Section>
  );
}
