import { Stack, Table, Text } from '@mantine/core';
import { CopyText } from '../../../parts/copy-text.tsx';
import type { DomainView } from './domain-view.ts';

const purposes: Record<DomainView['records'][number]['purpose'], string> = {
  ownership: 'proves that it is yours',
  routing: 'leads visitors here',
};

/** What to publish at the DNS provider, field by field as its form asks for it. */
export function DnsRecords({ domain }: { domain: DomainView }) {
  return (
    <Stack gap={4}>
      <Text fw={600}>
        {domain.status === 'active' ? 'Records to keep' : 'Publish these records where the domain is managed'}
      </Text>
      <Table.ScrollContainer minWidth={620}>
        <Table aria-label={`DNS records of ${domain.host_unicode}`} verticalSpacing={4}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th w={70}>Type</Table.Th>
              <Table.Th>Name</Table.Th>
              <Table.Th>Value</Table.Th>
              <Table.Th>What for</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {domain.records.map((record) => (
              <Table.Tr key={`${record.type} ${record.name} ${record.value}`}>
                <Table.Td style={{ whiteSpace: 'nowrap' }}>{record.type}</Table.Td>
                <Table.Td>
                  <CopyText value={record.name} label={`name of the ${record.type} record`} />
                </Table.Td>
                <Table.Td>
                  <CopyText value={record.value} label={`value of the ${record.type} record`} />
                </Table.Td>
                <Table.Td>{purposes[record.purpose]}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Stack>
  );
}
