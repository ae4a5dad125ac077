import {
  Alert,
  Button,
  Center,
  Code,
  Container,
  Group,
  Modal,
  Paper,
  Stack,
  Text,
  Title,
} from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import { type ReactNode, useEffect, useState } from 'react';
import { queryClient } from '../api/client.ts';
import { type Me, MeProvider, useOptionalMe } from '../api/me.ts';
import { BusyButton } from '../components/buttons.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { Loading } from '../components/query-view.tsx';
import { Hint } from '../components/text.tsx';
import { Logo } from './header.tsx';

export function SessionGate({ children }: { children: ReactNode }) {
  const me = useOptionalMe();
  const [holder, setHolder] = useState<Me | null>(null);
  if (me.data && me.data !== holder && (holder === null || holder.id === me.data.id)) setHolder(me.data);
  const isOther = Boolean(me.data && holder && me.data.id !== holder.id);

  // The page still shows data of the previous user.
  useEffect(() => {
    if (isOther) location.reload();
  }, [isOther]);

  // Keep the page mounted when the session ends, so that unsaved input survives.
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
          <Loading lines={1} />
        </Center>
      )}
    </Container>
  );
}

const zIndex = 400;

function SignInAgain({ me, isOther }: { me: ReturnType<typeof useOptionalMe>; isOther: boolean }) {
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
      title="Your session has ended"
      withCloseButton={false}
      closeOnEscape={false}
      closeOnClickOutside={false}
      zIndex={zIndex}
    >
      {isOther ? (
        <Stack>
          <Text>Another user has signed in. The page is reloaded for them.</Text>
          <Button onClick={() => location.reload()}>Reload the page</Button>
        </Stack>
      ) : (
        <Stack>
          <Text>Your input on this page is not lost. Sign in in another tab, then continue here.</Text>
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

function SignedOut() {
  useDocumentTitle('Sign in · svc');
  const here = `${location.pathname}${location.search}${location.hash}`;
  return (
    <Center component="main" mih="100dvh" p="md">
      <Paper withBorder p="xl" radius="lg" maw={440} w="100%">
        <Stack>
          <Logo />
          <Title order={1} size="h2">
            Your organisation’s apps
          </Title>
          <Text c="dimmed">Find, create and manage apps. Sign in with your account to start.</Text>
          <Button component="a" href={`/login?return_to=${encodeURIComponent(here)}`} size="md">
            Sign in
          </Button>
          <Hint>
            On the machine that runs the server, <Code>./svc login --local</Code> signs in the terminal; from
            anywhere else use <Code>{`SVC_BASE_URL=${location.origin} svc login`}</Code>.
          </Hint>
          <Text size="sm">
            <a href="/api/v1/openapi.json">HTTP API (OpenAPI document)</a>
          </Text>
        </Stack>
      </Paper>
    </Center>
  );
}
