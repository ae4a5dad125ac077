import { Alert, Group, List, Stack, Text } from '@mantine/core';
import { ProblemError, UnexpectedAnswerError } from '@svc/contract/client.ts';
import { IconAlertCircle } from '@tabler/icons-react';
import { remainingErrors } from '../api/field-errors.ts';
import { CopyText } from './buttons.tsx';
import { SmallButton } from './text.tsx';

export function ProblemAlert({ error, retry }: { error: unknown; retry?: () => void }) {
  if (error === null || error === undefined) return null;
  const { title, detail, code, requestId, items } = describeError(error);
  return (
    <Alert color="red" title={title} icon={<IconAlertCircle aria-hidden />} role="alert">
      <Stack gap="xs">
        {detail && <Text size="sm">{detail}</Text>}
        {items.length > 0 && (
          <List size="sm">
            {items.map((item) => (
              <List.Item key={item}>{item}</List.Item>
            ))}
          </List>
        )}
        <Group gap="md">
          {code && (
            <Text size="xs" className="mono">
              {code}
            </Text>
          )}
          {requestId && <CopyText value={requestId} label="request id" size="xs" />}
          {retry && <SmallButton onClick={retry}>Try again</SmallButton>}
        </Group>
      </Stack>
    </Alert>
  );
}

interface ErrorDescription {
  title: string;
  detail: string;
  code?: string;
  requestId?: string | null;
  items: string[];
}

export function ProblemAlerts({ changes }: { changes: readonly { problem: unknown }[] }) {
  // biome-ignore lint/suspicious/noArrayIndexKey: a page has a fixed list of changes.
  return changes.map(({ problem }, index) => <ProblemAlert key={index} error={problem} />);
}

function describeError(error: unknown): ErrorDescription {
  if (error instanceof ProblemError) {
    const { title, detail, code, request_id: requestId, errors = [] } = error.problem;
    const items = remainingErrors(error).map(itemText);
    return { title, detail: errors.length === 0 ? detail : remainingDetail(items), code, requestId, items };
  }
  if (error instanceof UnexpectedAnswerError) {
    return { title: 'Unexpected response', detail: error.message, requestId: error.requestId, items: [] };
  }
  // `fetch` throws a TypeError when the server cannot be reached.
  if (!(error instanceof TypeError)) {
    const detail = error instanceof Error ? error.message : String(error);
    return { title: 'Error in this page', detail, items: [] };
  }
  return {
    title: 'No connection',
    detail: 'The server did not respond. Check whether the request took effect before you repeat it.',
    items: [],
  };
}

const remainingDetail = (items: readonly string[]) =>
  items.length > 0 ? '' : 'See the errors at the fields.';

function itemText({ field, column, line, detail }: NonNullable<ProblemError['problem']['errors']>[number]) {
  const source = [line !== undefined && `line ${line}`, field ?? column].filter(Boolean).join(', ');
  return source ? `${source}: ${detail}` : detail;
}
