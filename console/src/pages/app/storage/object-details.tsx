import { Button, Group, Stack, Text } from '@mantine/core';
import { deleteObject, getObjectUrl } from '@svc/contract/storage.ts';
import { IconDownload } from '@tabler/icons-react';
import { isCode } from '../../../api/query-client.ts';
import { useAnswer } from '../../../api/use-answer.ts';
import { AnswerView } from '../../../parts/answer-view.tsx';
import { MayButton } from '../../../parts/may-button.tsx';
import { ProblemAlert } from '../../../parts/problem-alert.tsx';
import { readableBytes } from '../../../parts/readable-bytes.ts';
import { TimeText } from '../../../parts/time-text.tsx';
import { useApp } from '../use-app.ts';
import { whyNotActive } from '../why-not-active.ts';
import { ObjectLink } from './object-link.tsx';
import { ObjectPreview } from './object-preview.tsx';
import { useDeleteObjects } from './use-delete-objects.ts';

/** Renewed before it ends, so that what is on the page can be used whenever. */
const renewMs = 4 * 60_000;

export function ObjectDetails({ objectKey, close }: { objectKey: string; close: () => void }) {
  const { app, params, why } = useApp();
  const answer = useAnswer(getObjectUrl, { params, query: { key: objectKey } }, { everyMs: renewMs });
  const remove = useDeleteObjects(close);
  if (isCode(answer.error, 'not_found')) return <Text>There is no such file any more.</Text>;
  return (
    <AnswerView answer={answer}>
      {(object) => (
        <Stack>
          <Text size="sm">
            {object.content_type}, {readableBytes(object.size)}, changed{' '}
            <TimeText value={object.updated_at} />
          </Text>
          <Group gap="sm">
            <Button
              component="a"
              href={object.url}
              download
              leftSection={<IconDownload size={16} aria-hidden />}
            >
              Download
            </Button>
            <MayButton
              variant="default"
              why={why(deleteObject) ?? whyNotActive(app)}
              loading={remove.isBusy}
              onClick={() => void remove.propose([objectKey])}
            >
              Delete
            </MayButton>
          </Group>
          {remove.problem !== null && <ProblemAlert error={remove.problem} />}
          <ObjectLink objectKey={objectKey} />
          <ObjectPreview object={object} />
        </Stack>
      )}
    </AnswerView>
  );
}
