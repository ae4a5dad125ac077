import { Alert, Badge, Group, Stack, Text } from '@mantine/core';
import type { AccessPreview as PreviewShape } from '@svc/contract/access-preview.shapes.ts';
import { previewAccess } from '@svc/contract/access-preview.ts';
import { IconEye, IconEyeOff } from '@tabler/icons-react';
import type { z } from 'zod';
import { useTenant } from '../api/me.ts';
import { useEndpoint } from '../api/use-endpoint.ts';
import { DataTable } from './data-table.tsx';
import { QueryView } from './query-view.tsx';
import { BoldText, Hint, Mono } from './text.tsx';

type Preview = z.output<typeof PreviewShape>;

interface Question {
  as: string;
  connector?: string;
  resource_path?: string;
  app?: string;
  table?: string;
  via?: 'app' | 'console';
}

const colors = { clear: 'green', masked: 'yellow', hidden: 'red' } as const;

/** What a person sees of a table, and why. */
export function AccessPreview(question: Question) {
  const tenant = useTenant();
  const answer = useEndpoint(previewAccess, { params: { tenantID: tenant.id }, body: question });
  return (
    <QueryView answer={answer} lines={4}>
      {(preview) => (
        <Stack>
          <Alert
            color={preview.reason === null ? 'green' : 'yellow'}
            icon={preview.reason === null ? <IconEye aria-hidden /> : <IconEyeOff aria-hidden />}
            title={`View as ${preview.subject.email}`}
            role="status"
          >
            {preview.text}
          </Alert>
          <Columns preview={preview} />
          <Sample preview={preview} />
        </Stack>
      )}
    </QueryView>
  );
}

function Columns({ preview }: { preview: Preview }) {
  if (preview.columns.length === 0) return null;
  return (
    <DataTable
      label="Columns"
      minWidth={480}
      verticalSpacing="xs"
      rows={preview.columns}
      keyOf={({ name }) => name}
      columns={[
        { head: 'Column', cell: ({ name }) => <Mono>{name}</Mono> },
        {
          head: 'Access',
          cell: ({ access }) => (
            <Badge variant="light" color={colors[access]}>
              {access}
            </Badge>
          ),
        },
        { head: 'Why', cell: ({ access, text }) => (access === 'clear' ? '' : text) },
      ]}
    />
  );
}

function Sample({ preview: { sample, sample_withheld } }: { preview: Preview }) {
  const names = Object.keys(sample[0] ?? {});
  return (
    <Stack gap="xs">
      {names.length > 0 && (
        <>
          <BoldText>First rows</BoldText>
          <DataTable<Record<string, unknown>>
            label="First rows"
            minWidth={480}
            verticalSpacing="xs"
            rows={sample}
            keyOf={(row) => JSON.stringify(row)}
            columns={names.map((head) => ({
              head,
              cell: (row) => <Text size="sm">{cellText(row[head])}</Text>,
            }))}
          />
        </>
      )}
      {sample_withheld !== null && (
        <Group>
          <Hint>{sample_withheld}</Hint>
        </Group>
      )}
    </Stack>
  );
}

const cellText = (value: unknown) =>
  value === null ? 'null' : typeof value === 'object' ? JSON.stringify(value) : String(value);
