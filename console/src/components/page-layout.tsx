import { Anchor, type AnchorProps, Code, Group, Paper, Stack, Text, Title } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import { ProblemError } from '@svc/contract/client.ts';
import { IconArrowLeft } from '@tabler/icons-react';
import { type ReactNode, useId } from 'react';
import { Link } from 'wouter';
import { CopyText } from './buttons.tsx';
import { StateBadge } from './display.tsx';
import { Heading, Hint } from './text.tsx';

interface PageHeadProps {
  title: string;
  part?: string;
  lead?: ReactNode;
  mark?: ReactNode;
  actions?: ReactNode;
}

export function PageHead({ title, part, lead, mark, actions }: PageHeadProps) {
  useDocumentTitle(part ? `${part} · ${title} · svc` : `${title} · svc`);
  return (
    <Group justify="space-between" align="flex-start" mb="lg" gap="md">
      <Group gap="md" wrap="nowrap" miw={0}>
        {mark}
        <Stack gap={2} miw={0}>
          <Title order={1} size="h2">
            {title}
          </Title>
          {lead && (
            <Text component="div" c="dimmed">
              {lead}
            </Text>
          )}
        </Stack>
      </Group>
      {actions && <Group gap="sm">{actions}</Group>}
    </Group>
  );
}

export function Section({
  title,
  lead,
  tone,
  children,
}: {
  title: string;
  lead?: ReactNode;
  tone?: 'danger';
  children: ReactNode;
}) {
  const id = useId();
  return (
    <Paper
      withBorder
      p={{ base: 'md', sm: 'lg' }}
      component="section"
      aria-labelledby={id}
      style={tone === 'danger' ? { borderColor: 'var(--mantine-color-red-filled)' } : undefined}
    >
      <Stack gap="md">
        <Stack gap={2}>
          <Heading id={id}>{title}</Heading>
          {lead && <Hint component="div">{lead}</Hint>}
        </Stack>
        {children}
      </Stack>
    </Paper>
  );
}

export function EmptyState({
  title,
  children,
  command,
  action,
  error,
}: {
  title: string;
  children: ReactNode;
  command?: string;
  action?: ReactNode;
  error?: unknown;
}) {
  return (
    <Paper withBorder p="xl" radius="md">
      <Stack align="center" gap="sm" ta="center">
        <Heading>{title}</Heading>
        <Text c="dimmed" maw={520}>
          {children}
        </Text>
        {action}
        {error instanceof ProblemError && error.problem.request_id && (
          <CopyText value={error.problem.request_id} label="request id" size="xs" />
        )}
        {command && (
          <Hint>
            Command: <Code>{command}</Code>
          </Hint>
        )}
      </Stack>
    </Paper>
  );
}

export function Restricted({
  why,
  what,
  children,
}: {
  why: string | null;
  what: string;
  children: ReactNode;
}) {
  if (why === null) return <>{children}</>;
  return (
    <EmptyState title={`You have no access to ${what}`}>
      {why.replace('may do this', 'can view this page')}
    </EmptyState>
  );
}

export function BackLink({ to, children }: { to: string; children: string }) {
  return (
    <SmallLink to={to}>
      <Group gap={4} component="span">
        <IconArrowLeft size={14} aria-hidden /> {children}
      </Group>
    </SmallLink>
  );
}

export function ItemHead({ title, state, children }: { title: string; state: string; children: ReactNode }) {
  return (
    <Group justify="space-between" align="flex-start">
      <Group gap="sm">
        <Heading size="h3">{title}</Heading>
        <span role="status">
          <StateBadge state={state} />
        </span>
      </Group>
      {children}
    </Group>
  );
}

type LinkProps = AnchorProps & {
  to: string;
  children: ReactNode;
  'aria-label'?: string;
  title?: string;
  tabIndex?: number;
};

export const BoldLink = (props: LinkProps) => <LinkTo fw={600} {...props} />;
export const SmallLink = (props: LinkProps) => <LinkTo size="sm" {...props} />;

export function LinkTo({ to, children, ...rest }: LinkProps) {
  return (
    <Anchor component={Link} href={to} {...rest}>
      {children}
    </Anchor>
  );
}

export function ExternalLink({ to, children, ...rest }: LinkProps) {
  return (
    <Anchor href={to} target="_blank" rel="noreferrer" {...rest}>
      {children}
    </Anchor>
  );
}

export const withoutScheme = (url: string) => url.replace(/^https?:\/\//, '').replace(/\/$/, '');
