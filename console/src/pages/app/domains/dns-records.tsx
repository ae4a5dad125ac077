import { Stack, Text } from '@mantine/core';
import { CopyText } from '../../../parts/copy-text.tsx';
import { DataTable } from '../../../parts/data-table.tsx';
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
      <DataTable
        label={`DNS records of ${domain.host_unicode}`}
        minWidth={620}
        highlightOnHover={false}
        verticalSpacing={4}
        rows={domain.records}
        keyOf={({ type, name, value }) => `${type} ${name} ${value}`}
        columns={[
          { head: 'Type', cell: ({ type }) => type, th: { w: 70 }, td: { style: { whiteSpace: 'nowrap' } } },
          {
            head: 'Name',
            cell: ({ type, name }) => <CopyText value={name} label={`name of the ${type} record`} />,
          },
          {
            head: 'Value',
            cell: ({ type, value }) => <CopyText value={value} label={`value of the ${type} record`} />,
          },
          { head: 'What for', cell: ({ purpose }) => purposes[purpose] },
        ]}
      />
    </Stack>
  );
}
