import { Group, Select, TextInput } from '@mantine/core';
import { searchCharsMax } from '@svc/contract/app-lists.ts';
import { IconSearch } from '@tabler/icons-react';
import { ages, type Catalogue, sorts } from './use-catalogue.ts';

const sortTexts: Record<(typeof sorts)[number], string> = {
  usual: 'Best match, or newest',
  '-created_at': 'Newest first',
  name: 'By name',
  '-updated_at': 'Changed last',
};
const ageTexts: Record<(typeof ages)[number], string> = {
  any: 'At any time',
  '7': 'In the last 7 days',
  '30': 'In the last 30 days',
  '365': 'In the last year',
};

export function CatalogueFilters({ asked }: { asked: Catalogue }) {
  return (
    <Group align="flex-end" gap="sm" role="search" aria-label="Catalogue">
      <TextInput
        label="Search"
        placeholder="Words of a name or of what it does"
        type="search"
        leftSection={<IconSearch size={16} aria-hidden />}
        value={asked.typed}
        onChange={(event) => asked.type(event.currentTarget.value)}
        maxLength={searchCharsMax}
        style={{ flex: '1 1 260px' }}
      />
      <Select
        label="Order"
        data={sorts.map((value) => ({ value, label: sortTexts[value] }))}
        value={asked.sort}
        onChange={(value) => asked.setSort(sorts.find((one) => one === value) ?? 'usual')}
        allowDeselect={false}
        w={{ base: '100%', xs: 220 }}
      />
      <Select
        label="Made"
        data={ages.map((value) => ({ value, label: ageTexts[value] }))}
        value={asked.within}
        onChange={(value) => asked.setWithin(ages.find((one) => one === value) ?? 'any')}
        allowDeselect={false}
        w={{ base: '100%', xs: 180 }}
      />
    </Group>
  );
}
