import { Alert, Button, Group, List, Stack, Text } from '@mantine/core';
import { ProblemError, UnexpectedAnswerError } from '@svc/contract/client.ts';
import { IconAlertCircle } from '@tabler/icons-react';
import { untoldItems } from '../api/told-at-field.ts';
import { CopyText } from './copy-text.tsx';

/** What went wrong, in the server's words, with what an operator needs to find it in the log. */
export function ProblemAlert({ error, retry }: { error: unknown; retry?: () => void }) {
  const { title, detail, code, requestId, items } = told(error);
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
          {retry && (
            <Button size="compact-sm" variant="default" onClick={retry}>
              Try again
            </Button>
          )}
        </Group>
      </Stack>
    </Alert>
  );
}

interface Told {
  title: string;
  detail: string;
  code?: string;
  requestId?: string | null;
  items: string[];
}

function told(error: unknown): Told {
  if (error instanceof ProblemError) {
    const { title, detail, code, request_id: requestId, errors = [] } = error.problem;
    const items = untoldItems(error).map(itemText);
    return { title, detail: errors.length === 0 ? detail : besides(items), code, requestId, items };
  }
  if (error instanceof UnexpectedAnswerError) {
    return { title: 'Unexpected answer', detail: error.message, requestId: error.requestId, items: [] };
  }
  // What `fetch` throws, whatever the browser calls it.
  if (!(error instanceof TypeError)) {
    const detail = error instanceof Error ? error.message : String(error);
    return { title: 'Something went wrong in this page', detail, items: [] };
  }
  return {
    title: 'No connection',
    detail: 'The server did not answer. Nothing is known of what was asked for; look before you do it again.',
    items: [],
  };
}

/** The lines say what is wrong; where all of them stand at fields, that they do. */
const besides = (items: readonly string[]) => (items.length > 0 ? '' : 'What is wrong stands at the fields.');

function itemText({ field, column, line, detail }: NonNullable<ProblemError['problem']['errors']>[number]) {
  const place = [line !== undefined && `line ${line}`, field ?? column].filter(Boolean).join(', ');
  return place ? `${place}: ${detail}` : detail;
}
