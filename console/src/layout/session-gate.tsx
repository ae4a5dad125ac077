import { Alert, Button, Center, Container, Group, Modal, Stack, Text } from '@mantine/core';
import { type ReactNode, useEffect, useState } from 'react';
import { type Me, MeProvider, useMaybeMe } from '../api/me.ts';
import { queryClient } from '../api/query-client.ts';
import { Placeholder } from '../parts/answer-view.tsx';
import { BusyButton } from '../parts/busy-button.tsx';
import { ProblemAlert } from '../parts/problem-alert.tsx';
import { SignedOut } from './signed-out.tsx';

/** The console for who is signed in; the way there for everybody else, leading back to the very page. */
export function SessionGate({ children }: { children: ReactNode }) {
  const me = useMaybeMe();
  const [holder, setHolder] = useState<Me | null>(null);
  if (me.data && me.data !== holder && (holder === null || holder.id === me.data.id)) setHolder(me.data);
  const isOther = Boolean(me.data && holder && me.data.id !== holder.id);

  // What is shown and half written belongs to who was here before.
  useEffect(() => {
    if (isOther) location.reload();
  }, [isOther]);

  // Somebody whose session ends in the middle of something keeps the page, and what was written in it.
  if (holder)
    return (
      <MeProvider value={holder}>
        {children}
        {(me.data === null || isOther) && <SignInAgain me={me} isOther={isOther} />}
      </MeProvider>
    );
  if (me.data === null) return <SignedOut />;
  return (
    <Container size="sm" py="xl">
      {me.isError ? (
        <ProblemAlert error={me.error} retry={() => void me.refetch()} />
      ) : (
        <Center mih="60vh">
          <Placeholder lines={1} />
        </Center>
      )}
    </Container>
  );
}

/** Above the dialogs of the pages. */
const zIndex = 400;

function SignInAgain({ me, isOther }: { me: ReturnType<typeof useMaybeMe>; isOther: boolean }) {
  const [isStillOut, setStillOut] = useState(false);
  async function askAgain() {
    setStillOut(false);
    const { data } = await me.refetch();
    if (data) await queryClient.invalidateQueries();
    else setStillOut(data === null);
  }
  return (
    <Modal
      opened
      onClose={() => {}}
      title="You are signed out: sign in again"
      withCloseButton={false}
      closeOnEscape={false}
      closeOnClickOutside={false}
      zIndex={zIndex}
    >
      {isOther ? (
        <Stack>
          <Text>Somebody else is signed in now. The page is loaded again for them.</Text>
          <Button onClick={() => location.reload()}>Load the page again</Button>
        </Stack>
      ) : (
        <Stack>
          <Text>
            The page stays as it is, with what you have written. Sign in in another tab, then go on.
          </Text>
          {isStillOut && <Alert color="yellow">Nobody is signed in yet.</Alert>}
          {me.isError && <ProblemAlert error={me.error} />}
          <Group justify="flex-end">
            <BusyButton variant="default" loading={me.isFetching} onClick={() => void askAgain()}>
              I have signed in
            </BusyButton>
            <Button component="a" href="/login" target="_blank" rel="noreferrer" data-autofocus>
              Sign in
            </Button>
          </Group>
        </Stack>
      )}
    </Modal>
  );
}
