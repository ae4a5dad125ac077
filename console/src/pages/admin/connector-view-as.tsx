import { Paper, Select, SimpleGrid, Stack } from '@mantine/core';
import { type connectorKinds, isDatabaseKind, listConnectorTables } from '@svc/contract/connectors.ts';
import { perPageMax } from '@svc/contract/limits.ts';
import { useTenant } from '../../api/me.ts';
import { useEndpoint } from '../../api/use-endpoint.ts';
import { AccessPreview } from '../../components/access-preview.tsx';
import { Heading, Hint } from '../../components/text.tsx';
import { useUrlValue } from '../../components/url-state.ts';
import { MemberSelect } from './fields.tsx';

export function ConnectorViewAs({
  connector,
}: {
  connector: { id: string; kind: (typeof connectorKinds)[number] };
}) {
  const tenant = useTenant();
  const [person, setPerson] = useUrlValue('person');
  const [path, setPath] = useUrlValue('path');
  const hasTables = isDatabaseKind(connector.kind) || connector.kind === 'tables';
  const answer = useEndpoint(
    listConnectorTables,
    { params: { tenantID: tenant.id, connectorID: connector.id }, query: { per_page: perPageMax } },
    { enabled: hasTables },
  );
  if (!hasTables) return null;
  return (
    <Paper withBorder p="lg" radius="md" component="section" aria-labelledby="view-as">
      <Stack>
        <Heading id="view-as">View as</Heading>
        <Hint>
          Shows which rows and columns of a table a member sees, and why. Rows are shown only as far as you
          may see them yourself.
        </Hint>
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          <MemberSelect label="Member" value={person} onChange={setPerson} />
          <Select
            label="Table"
            placeholder="Choose one"
            data={answer.data?.items.map((table) => table.path) ?? []}
            value={path || null}
            onChange={(next) => setPath(next ?? '')}
            nothingFoundMessage="No tables: refresh the schema"
            searchable
          />
        </SimpleGrid>
        {person !== '' && path !== '' && (
          <AccessPreview as={person} connector={connector.id} resource_path={path} />
        )}
      </Stack>
    </Paper>
  );
}
