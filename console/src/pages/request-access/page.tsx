import { Alert, Stack, Textarea } from '@mantine/core';
import { accessRequestNoteCharsMax, requestAccess } from '@svc/contract/access-requests.ts';
import { IconCircleCheck } from '@tabler/icons-react';
import { useState } from 'react';
import { useParams } from 'wouter';
import { useTenant } from '../../api/me.ts';
import { FormCard } from '../../components/form-card.tsx';
import { PageHead } from '../../components/page-layout.tsx';
import { useForm } from '../../components/use-form.ts';

/** The app itself is not readable here: the person may not see it. */
export default function RequestAccessPage() {
  const tenant = useTenant();
  const { app = '' } = useParams<{ app: string }>();
  const [isSent, setSent] = useState(false);
  const form = useForm(
    requestAccess,
    { note: '' },
    {
      title: 'Request access',
      verb: 'Request access',
      done: 'Request sent.',
      onDone: () => setSent(true),
      input: ({ note }) => ({ params: { tenantID: tenant.id }, body: { app, note } }),
    },
  );
  return (
    <>
      <PageHead title={`Request access to ${app}`} lead="Only invited people may open this app." />
      <Stack maw={720}>
        {isSent ? (
          <Alert color="green" icon={<IconCircleCheck aria-hidden />} title="The owners are notified">
            You get a notification when they have decided.
          </Alert>
        ) : (
          <FormCard title="Ask the owners" form={form} submit="Request access">
            <Textarea
              {...form.field('note')}
              label="Message to the owners"
              description="Why you need the app."
              maxLength={accessRequestNoteCharsMax}
              autosize
              minRows={3}
            />
          </FormCard>
        )}
      </Stack>
    </>
  );
}
