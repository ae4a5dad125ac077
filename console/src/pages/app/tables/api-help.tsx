import { Button, Code, Modal, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconCode } from '@tabler/icons-react';
import { CopyButtonFor } from '../../../parts/copy-button-for.tsx';
import { isChangeable, useTable } from './use-table.ts';

/** How programs reach the table, with its own names to copy. */
export function ApiHelp() {
  const [isOpen, { open, close }] = useDisclosure(false);
  const { table, app, tenant, path } = useTable();
  const column = table.columns.find((each) => isChangeable(table, each))?.name ?? 'id';
  const url = `${location.origin}${path}`;
  const samples = [
    {
      what: 'curl: a page of rows',
      text: `curl -H "X-Api-Key: $SVC_API_KEY" '${url}?sort=-${column}&per_page=20'`,
    },
    {
      what: 'curl: insert a row',
      text: `curl -H "X-Api-Key: $SVC_API_KEY" -H 'Content-Type: application/json' -d '{"${column}": null}' '${url}'`,
    },
    {
      what: 'SDK',
      text: [
        `const client = createClient({ baseUrl: '${location.origin}', tenant: '${tenant.slug}', app: '${app.slug}', auth });`,
        `const rows = await client.table('${table.name}').sort('-${column}').perPage(20).list();`,
      ].join('\n'),
    },
    { what: 'Command line', text: `svc rows list ${table.name} --app ${app.slug} --tenant ${tenant.slug}` },
  ];
  return (
    <>
      <Button variant="default" leftSection={<IconCode size={16} aria-hidden />} onClick={open}>
        API
      </Button>
      <Modal
        opened={isOpen}
        onClose={close}
        title={`${table.name} in programs`}
        size="xl"
        closeButtonProps={{ 'aria-label': 'Close' }}
      >
        <Stack>
          <Text size="sm">
            A personal access token (Access tokens) or a login says who asks. Filters are written
            column=op.value, as the grid has them in its address.
          </Text>
          {samples.map(({ what, text }) => (
            <Stack key={what} gap={4}>
              <Text size="sm" fw={600}>
                {what} <CopyButtonFor value={text} label={what} />
              </Text>
              <Code block style={{ whiteSpace: 'pre-wrap' }}>
                {text}
              </Code>
            </Stack>
          ))}
        </Stack>
      </Modal>
    </>
  );
}
