import { Button, Center, Code, Paper, Stack, Text, Title } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import { Logo } from './logo.tsx';

export function SignedOut() {
  useDocumentTitle('Sign in · svc');
  const here = `${location.pathname}${location.search}${location.hash}`;
  return (
    <Center component="main" mih="100dvh" p="md">
      <Paper withBorder p="xl" radius="lg" maw={440} w="100%">
        <Stack>
          <Logo />
          <Title order={1} size="h2">
            Apps of your organisation
          </Title>
          <Text c="dimmed">Find them, make them, look after them. Sign in with your account to begin.</Text>
          <Button component="a" href={`/login?return_to=${encodeURIComponent(here)}`} size="md">
            Sign in
          </Button>
          <Text size="sm" c="dimmed">
            On the machine that runs the server, <Code>./svc login --local</Code> signs the terminal in; from
            anywhere else <Code>{`SVC_BASE_URL=${location.origin} svc login`}</Code> does.
          </Text>
          <Text size="sm">
            <a href="/api/v1/openapi.json">The HTTP surface as an OpenAPI document</a>
          </Text>
        </Stack>
      </Paper>
    </Center>
  );
}
