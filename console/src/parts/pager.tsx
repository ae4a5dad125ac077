import { Group, Pagination, Text } from '@mantine/core';
import { useSearchParams } from 'wouter';

/** To the other pages of a list; which one is shown stands in the address as `page`. */
export function Pager({ page, perPage, total }: { page: number; perPage: number; total: number }) {
  const [, setSearch] = useSearchParams();
  const pages = Math.ceil(total / perPage);
  if (pages < 2) return null;
  const show = (next: number) =>
    setSearch((search) => {
      const changed = new URLSearchParams(search);
      if (next === 1) changed.delete('page');
      else changed.set('page', String(next));
      return changed;
    });
  return (
    <Group justify="space-between" mt="md" component="nav" aria-label="Pages of the list">
      <Text size="sm" c="dimmed">
        {(page - 1) * perPage + 1} to {Math.min(page * perPage, total)} of {total}
      </Text>
      <Pagination
        total={pages}
        value={page}
        onChange={show}
        siblings={1}
        size="sm"
        getItemProps={(item) => ({ 'aria-label': `Page ${item}` })}
        getControlProps={(control) => ({ 'aria-label': `To the ${control} page` })}
      />
    </Group>
  );
}
